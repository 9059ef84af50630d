#include <utility>

#include "client/forwarder.h"
#include "client/sync_state.h"

namespace cay::sdk {

namespace api = cay::client;

struct ForwardState {
  ForwardState(std::shared_ptr<ClientState> owner, std::shared_ptr<api::Forwarder> made)
      : client(std::move(owner)), forwarder(std::move(made)) {}
  ForwardState(const ForwardState&) = delete;
  ForwardState& operator=(const ForwardState&) = delete;
  // Its sockets belong to the loop's thread: closed there, while the loop still turns.
  ~ForwardState() {
    const auto close = [](std::shared_ptr<api::Forwarder> gone) -> Task<void> {
      co_await gone->close();
      gone.reset();
      co_return Result<void>();
    };
    (void)client->loop.wait(close(std::move(forwarder)));
  }

  std::shared_ptr<ClientState> client;
  std::shared_ptr<api::Forwarder> forwarder;
};

Forward Sandbox::forward(const ForwardOptions& options) const {
  auto forwarder = state_->client->wait(
      api::Forwarder::listen(state_->client->connection, state_->at(), options));
  return Forward(std::make_shared<ForwardState>(state_->client, std::move(forwarder)));
}

Forward Sandbox::forward(std::uint16_t remote_port, std::uint16_t local_port) const {
  ForwardOptions options;
  options.remote_port = remote_port;
  options.local_port = local_port;
  return forward(options);
}

std::uint16_t Forward::local_port() const { return state_->forwarder->local_port(); }
std::uint16_t Forward::remote_port() const { return state_->forwarder->remote_port(); }
const std::string& Forward::address() const { return state_->forwarder->address(); }

}  // namespace cay::sdk
