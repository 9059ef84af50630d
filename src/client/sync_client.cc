#include <utility>

#include "client/api.h"
#include "client/json_write.h"
#include "client/sync_state.h"
#include "client/waited_start.h"

namespace cay::sdk {

namespace api = cay::client;

Client::Client(const ClientOptions& options) : state_(std::make_shared<ClientState>(options)) {}

SandboxInfo Client::create_info(const CreateOptions& options) const {
  return state_->wait(api::create(state_->connection, options));
}

Sandbox Client::create(const CreateOptions& options) const {
  return Sandbox(state_, create_info(options).id);
}

Ensured Client::ensure(const std::string& claim, const CreateOptions& options) const {
  auto got = state_->wait(api::ensure(state_->connection, claim, options));
  Sandbox box(state_, got.info.id);
  return {std::move(box), std::move(got.info), got.created};
}

Sandbox Client::sandbox(std::string id_or_name) const {
  return Sandbox(state_, std::move(id_or_name));
}

std::vector<SandboxInfo> Client::list(const ListOptions& options) const {
  return state_->wait(api::list(state_->connection, options));
}

std::vector<Feature> Client::doctor() const {
  return state_->wait(api::doctor(state_->connection));
}
Version Client::version() const { return state_->wait(api::version(state_->connection)); }

std::string Client::request(const std::string& method, const std::string& target,
                            const std::string& json) const {
  return state_->wait(state_->connection.call(method, target, json));
}

std::string SandboxState::at() const {
  const std::lock_guard lock(mutex_);
  return id_.empty() ? ref_ : id_;
}

void SandboxState::keep_id(const std::string& id) {
  const std::lock_guard lock(mutex_);
  if (id_.empty()) id_ = id;
}

namespace {

SandboxInfo kept(SandboxState& box, Task<SandboxInfo> work) {
  SandboxInfo info = box.client->wait(std::move(work));
  box.keep_id(info.id);
  return info;
}

}  // namespace

Sandbox::Sandbox(std::shared_ptr<ClientState> client, std::string ref)
    : Sandbox(std::make_shared<SandboxState>(std::move(client), std::move(ref))) {}

Sandbox::Sandbox(std::shared_ptr<SandboxState> state)
    : SandboxCommands(state),
      SandboxFiles(state),
      SandboxFileChanges(state),
      state_(std::move(state)) {}

const std::string& Sandbox::ref() const { return state_->ref(); }
SandboxInfo Sandbox::info() const {
  return kept(*state_, api::get(state_->client->connection, state_->at()));
}
SandboxInfo Sandbox::update(const UpdateOptions& options) const {
  return kept(*state_, api::update(state_->client->connection, state_->at(), options));
}
SandboxInfo Sandbox::start(double timeout_s) const {
  return kept(*state_, api::start(state_->client->connection, state_->at(), timeout_s));
}
SandboxInfo Sandbox::stop() const {
  return kept(*state_, api::stop(state_->client->connection, state_->at()));
}
SandboxInfo Sandbox::pause() const {
  return kept(*state_, api::pause(state_->client->connection, state_->at()));
}
SandboxInfo Sandbox::resume() const {
  return kept(*state_, api::resume(state_->client->connection, state_->at()));
}
void Sandbox::remove() const {
  state_->client->wait(api::remove(state_->client->connection, state_->at()));
}
ProgramPage Sandbox::programs(std::uint64_t offset, std::uint32_t limit) const {
  return state_->client->wait(
      api::programs(state_->client->connection, state_->at(), offset, limit));
}
NetworkReport Sandbox::network() const {
  return state_->client->wait(api::network(state_->client->connection, state_->at()));
}
Stats Sandbox::stats() const {
  return state_->client->wait(api::stats(state_->client->connection, state_->at()));
}

namespace {

Command command_of(SandboxState& box, Task<std::unique_ptr<api::CommandStream>> work) {
  auto state = std::make_shared<CommandState>();
  state->client = box.client;
  state->stream = box.client->wait(std::move(work));
  box.keep_id(state->stream->sandbox());
  return Command(std::move(state));
}

Command spawn_spec(SandboxState& box, api::json::object spec, double wait_s) {
  return command_of(
      box, api::CommandStream::start(box.client->connection, box.at(), std::move(spec), wait_s));
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

CommandResult SandboxCommands::run(const std::vector<std::string>& argv,
                                   const CommandOptions& options,
                                   const OutputCallbacks& callbacks) const {
  return spawn_spec(*state_, api::command_body(argv, api::Line::kArgv, options),
                    api::wait_of(options, api::kWaitOfRun))
      .wait(callbacks, kKeep);
}

CommandResult SandboxCommands::run_shell(const std::string& line, const CommandOptions& options,
                                         const OutputCallbacks& callbacks) const {
  return spawn_spec(*state_, api::command_body({line}, api::Line::kShell, options),
                    api::wait_of(options, api::kWaitOfRun))
      .wait(callbacks, kKeep);
}

Command SandboxCommands::spawn(const std::vector<std::string>& argv,
                               const CommandOptions& options) const {
  return spawn_spec(*state_, api::command_body(argv, api::Line::kArgv, options),
                    api::wait_of(options, 0));
}

CommandInfo SandboxCommands::start_detached(const std::vector<std::string>& argv,
                                            const CommandOptions& options) const {
  auto spec = api::command_body(argv, api::Line::kArgv, options);
  return state_->client->wait(
      api::start_detached(state_->client->connection, state_->at(), std::move(spec)));
}

Command SandboxCommands::attach(const std::string& command_id, Offsets from) const {
  return command_of(*state_, api::CommandStream::attach(state_->client->connection, state_->at(),
                                                        command_id, from));
}

std::vector<CommandInfo> SandboxCommands::commands() const {
  return state_->client->wait(api::commands(state_->client->connection, state_->at()));
}
CommandInfo SandboxCommands::command(const std::string& command_id) const {
  return state_->client->wait(api::command(state_->client->connection, state_->at(), command_id));
}
void SandboxCommands::kill(const std::string& command_id, int signal) const {
  state_->client->wait(api::kill(state_->client->connection, state_->at(), command_id, signal));
}
void SandboxCommands::forget(const std::string& command_id) const {
  state_->client->wait(api::forget(state_->client->connection, state_->at(), command_id));
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
