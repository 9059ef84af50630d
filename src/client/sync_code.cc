#include "client/api.h"
#include "client/sync_state.h"

namespace cay::sdk {

namespace api = cay::client;

CodeResult SandboxCommands::run_code(const std::string& code, const CodeOptions& options) const {
  return state_->client->wait(
      api::run_code(state_->client->connection, state_->at(), code, options));
}

CodeResult Client::run_code(const std::string& code, const CodeOptions& options,
                            const CreateOptions& sandbox) const {
  return state_->wait(api::run_code_once(state_->connection, code, options, sandbox));
}

}  // namespace cay::sdk
