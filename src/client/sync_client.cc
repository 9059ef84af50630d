#include <mutex>
#include <utility>

#include "client/api.h"
#include "client/json_write.h"
#include "client/sync_state.h"

namespace cay::sdk {

namespace api = cay::client;

Client::Client(const ClientOptions& options) : state_(std::make_shared<ClientState>(options)) {}

SandboxInfo Client::create_info(const CreateOptions& options) const {
  return state_->wait(api::create(state_->connection, options));
}

Sandbox Client::create(const CreateOptions& options) const {
  return Sandbox(state_, create_info(options).id);
}

Sandbox Client::sandbox(std::string id_or_name) const {
  return Sandbox(state_, std::move(id_or_name));
}

std::vector<SandboxInfo> Client::list(const ListOptions& options) const {
  return state_->wait(api::list(state_->connection, options));
}

std::vector<Snapshot> Client::snapshots() const {
  return state_->wait(api::snapshots(state_->connection));
}
std::vector<Feature> Client::doctor() const {
  return state_->wait(api::doctor(state_->connection));
}
Version Client::version() const { return state_->wait(api::version(state_->connection)); }

std::string Client::request(const std::string& method, const std::string& target,
                            const std::string& json) const {
  return state_->wait(state_->connection.call(method, target, json));
}

struct Sandbox::Told {
  std::mutex mutex;
  std::string id;
};

Sandbox::Sandbox(std::shared_ptr<ClientState> client, std::string ref)
    : client_(std::move(client)), ref_(std::move(ref)), told_(std::make_shared<Told>()) {}

std::string Sandbox::at() const {
  const std::lock_guard lock(told_->mutex);
  return told_->id.empty() ? ref_ : told_->id;
}

SandboxInfo Sandbox::told(SandboxInfo info) const {
  const std::lock_guard lock(told_->mutex);
  if (told_->id.empty()) told_->id = info.id;
  return info;
}

Command Sandbox::told(Command command) const {
  const std::lock_guard lock(told_->mutex);
  if (told_->id.empty()) told_->id = command.state_->stream->sandbox();
  return command;
}

SandboxInfo Sandbox::info() const {
  return told(client_->wait(api::get(client_->connection, at())));
}
SandboxInfo Sandbox::update(const UpdateOptions& options) const {
  return told(client_->wait(api::update(client_->connection, at(), options)));
}
SandboxInfo Sandbox::start(double timeout_s) const {
  return told(client_->wait(api::start(client_->connection, at(), timeout_s)));
}
SandboxInfo Sandbox::stop() const {
  return told(client_->wait(api::stop(client_->connection, at())));
}
SandboxInfo Sandbox::pause() const {
  return told(client_->wait(api::pause(client_->connection, at())));
}
SandboxInfo Sandbox::resume() const {
  return told(client_->wait(api::resume(client_->connection, at())));
}
void Sandbox::remove() const { client_->wait(api::remove(client_->connection, at())); }
ProgramPage Sandbox::programs(std::uint64_t offset, std::uint32_t limit) const {
  return client_->wait(api::programs(client_->connection, at(), offset, limit));
}
NetworkReport Sandbox::network() const {
  return client_->wait(api::network(client_->connection, at()));
}
Stats Sandbox::stats() const { return client_->wait(api::stats(client_->connection, at())); }

namespace {

Command spawn_spec(const std::shared_ptr<ClientState>& client, const std::string& ref,
                   api::json::object spec) {
  auto state = std::make_shared<CommandState>();
  state->client = client;
  state->stream = client->wait(api::CommandStream::start(client->connection, ref, std::move(spec)));
  return Command(std::move(state));
}

constexpr std::size_t kKeep = 16u << 20;  // of each stream, in a CommandResult

}  // namespace

CommandState::~CommandState() {
  auto close = [](std::unique_ptr<api::CommandStream> gone) -> Task<void> {
    gone.reset();
    co_return Result<void>();
  };
  (void)client->loop.wait(close(std::move(stream)));
}

CommandResult Sandbox::run(const std::vector<std::string>& argv, const CommandOptions& options,
                           const OutputCallbacks& callbacks) const {
  return spawn(argv, options).wait(callbacks, kKeep);
}

CommandResult Sandbox::run_shell(const std::string& line, const CommandOptions& options,
                                 const OutputCallbacks& callbacks) const {
  return told(spawn_spec(client_, at(), api::command_body({line}, api::Line::kShell, options)))
      .wait(callbacks, kKeep);
}

Command Sandbox::spawn(const std::vector<std::string>& argv, const CommandOptions& options) const {
  return told(spawn_spec(client_, at(), api::command_body(argv, api::Line::kArgv, options)));
}

CommandInfo Sandbox::start_detached(const std::vector<std::string>& argv,
                                    const CommandOptions& options) const {
  auto spec = api::command_body(argv, api::Line::kArgv, options);
  return client_->wait(api::start_detached(client_->connection, at(), std::move(spec)));
}

Command Sandbox::attach(const std::string& command_id, Offsets from) const {
  auto state = std::make_shared<CommandState>();
  state->client = client_;
  state->stream =
      client_->wait(api::CommandStream::attach(client_->connection, at(), command_id, from));
  return told(Command(std::move(state)));
}

std::vector<CommandInfo> Sandbox::commands() const {
  return client_->wait(api::commands(client_->connection, at()));
}
CommandInfo Sandbox::command(const std::string& command_id) const {
  return client_->wait(api::command(client_->connection, at(), command_id));
}
void Sandbox::kill(const std::string& command_id, int signal) const {
  client_->wait(api::kill(client_->connection, at(), command_id, signal));
}
void Sandbox::forget(const std::string& command_id) const {
  client_->wait(api::forget(client_->connection, at(), command_id));
}

const std::string& Command::id() const { return state_->stream->id(); }
const CommandInfo& Command::started() const { return state_->stream->started(); }
Event Command::next() { return state_->client->wait(state_->stream->next()); }

CommandResult Command::wait(const OutputCallbacks& callbacks, std::size_t keep) {
  api::Gatherer gatherer(callbacks, keep);  // callbacks run here, on the caller's thread
  while (!gatherer.add(next())) {
  }
  return gatherer.take(state_->stream->ref());
}

void Command::write_stdin(std::string_view bytes) {
  state_->client->wait(state_->stream->write_stdin(std::string(bytes)));
}
void Command::close_stdin() { state_->client->wait(state_->stream->close_stdin()); }
void Command::kill(int signal) { state_->client->wait(state_->stream->kill(signal)); }
void Command::resize(TerminalSize size) { state_->client->wait(state_->stream->resize(size)); }

}  // namespace cay::sdk
