#include "cay/async_client.h"

#include <utility>

#include "client/api.h"
#include "client/async_state.h"
#include "client/json_write.h"
#include "client/tunnel_stream.h"
#include "client/waited_start.h"

namespace cay::sdk {

namespace api = cay::client;

struct AsyncCommandState {
  std::shared_ptr<AsyncState> client;  // outlives the stream
  std::unique_ptr<api::CommandStream> stream;
};

struct AsyncTunnelState {
  std::shared_ptr<AsyncState> client;  // outlives the stream
  std::unique_ptr<api::TunnelStream> stream;
};

namespace {

using Place = std::shared_ptr<const AsyncPlace>;

Awaitable<AsyncCommand> command_of(Place place, Task<std::unique_ptr<api::CommandStream>> task) {
  auto got = co_await std::move(task);
  if (!got) api::raise(std::move(got).error());
  auto state = std::make_shared<AsyncCommandState>(place->client, *std::move(got));
  co_return AsyncCommand(std::move(state));
}

Awaitable<AsyncCommand> spawn_spec(const Place& place, api::json::object spec, double wait_s) {
  return command_of(place, api::CommandStream::start(place->client->connection, place->ref,
                                                     std::move(spec), wait_s));
}

Awaitable<CommandResult> run_spec(Place place, api::json::object spec, double wait_s) {
  auto command = co_await spawn_spec(place, std::move(spec), wait_s);
  co_return co_await command.wait();
}

Awaitable<AsyncTunnel> connect_to(Place place, std::uint16_t port) {
  auto got = co_await api::TunnelStream::open(place->client->connection, place->ref, port);
  if (!got) api::raise(std::move(got).error());
  auto state = std::make_shared<AsyncTunnelState>(place->client, *std::move(got));
  co_return AsyncTunnel(std::move(state));
}

Awaitable<AsyncSandbox> create_one(std::shared_ptr<AsyncState> client, CreateOptions options) {
  auto info = co_await api::create(client->connection, std::move(options));
  if (!info) api::raise(std::move(info).error());
  co_return AsyncSandbox(std::move(client), std::move(info->id));
}

Awaitable<AsyncEnsured> ensure_one(std::shared_ptr<AsyncState> client, std::string claim,
                                   CreateOptions options) {
  auto got = co_await api::ensure(client->connection, std::move(claim), std::move(options));
  if (!got) api::raise(std::move(got).error());
  AsyncSandbox box(std::move(client), got->info.id);
  co_return AsyncEnsured{std::move(box), std::move(got->info), got->created};
}

}  // namespace

const std::string& AsyncCommand::id() const { return state_->stream->id(); }
const CommandInfo& AsyncCommand::started() const { return state_->stream->started(); }
Awaitable<Event> AsyncCommand::next() { return unwrap(state_, state_->stream->next()); }
Awaitable<CommandResult> AsyncCommand::wait(OutputCallbacks callbacks, std::size_t keep) {
  return unwrap(state_, api::gather(*state_->stream, std::move(callbacks), keep));
}
Awaitable<void> AsyncCommand::write_stdin(std::string bytes) {
  return unwrap(state_, state_->stream->write_stdin(std::move(bytes)));
}
Awaitable<void> AsyncCommand::close_stdin() {
  return unwrap(state_, state_->stream->close_stdin());
}
Awaitable<void> AsyncCommand::kill(int signal) {
  return unwrap(state_, state_->stream->kill(signal));
}
Awaitable<void> AsyncCommand::resize(TerminalSize size) {
  return unwrap(state_, state_->stream->resize(size));
}

Awaitable<CommandResult> AsyncSandboxCommands::run(std::vector<std::string> argv,
                                                   CommandOptions options) const {
  return run_spec(place_, api::command_body(argv, api::Line::kArgv, options),
                  api::wait_of(options, api::kWaitOfRun));
}
Awaitable<CommandResult> AsyncSandboxCommands::run_shell(std::string line,
                                                         CommandOptions options) const {
  return run_spec(place_, api::command_body({std::move(line)}, api::Line::kShell, options),
                  api::wait_of(options, api::kWaitOfRun));
}
Awaitable<CodeResult> AsyncSandboxCommands::run_code(std::string code, CodeOptions options) const {
  return at_place(place_, api::run_code, std::move(code), std::move(options));
}
Awaitable<AsyncCommand> AsyncSandboxCommands::spawn(std::vector<std::string> argv,
                                                    CommandOptions options) const {
  return spawn_spec(place_, api::command_body(argv, api::Line::kArgv, options),
                    api::wait_of(options, 0));
}
Awaitable<AsyncCommand> AsyncSandboxCommands::spawn_shell(std::string line,
                                                          CommandOptions options) const {
  return spawn_spec(place_, api::command_body({std::move(line)}, api::Line::kShell, options),
                    api::wait_of(options, 0));
}
Awaitable<CommandInfo> AsyncSandboxCommands::start_detached(std::vector<std::string> argv,
                                                            CommandOptions options) const {
  return at_place(place_, api::start_detached, api::command_body(argv, api::Line::kArgv, options));
}
Awaitable<AsyncCommand> AsyncSandboxCommands::attach(std::string command_id, Offsets from) const {
  return command_of(place_, api::CommandStream::attach(place_->client->connection, place_->ref,
                                                       std::move(command_id), from));
}
Awaitable<std::vector<CommandInfo>> AsyncSandboxCommands::commands() const {
  return at_place(place_, api::commands);
}
Awaitable<CommandInfo> AsyncSandboxCommands::command(std::string command_id) const {
  return at_place(place_, api::command, std::move(command_id));
}
Awaitable<void> AsyncSandboxCommands::kill(std::string command_id, int signal) const {
  return at_place(place_, api::kill, std::move(command_id), signal);
}
Awaitable<void> AsyncSandboxCommands::forget(std::string command_id) const {
  return at_place(place_, api::forget, std::move(command_id));
}

Awaitable<AsyncTunnel> AsyncSandbox::connect(std::uint16_t port) const {
  return connect_to(place_, port);
}
Awaitable<std::string> AsyncTunnel::read() { return unwrap(state_, state_->stream->read()); }
Awaitable<void> AsyncTunnel::write(std::string bytes) {
  return unwrap(state_, state_->stream->write(std::move(bytes)));
}
Awaitable<void> AsyncTunnel::shut_write() { return unwrap(state_, state_->stream->shut_write()); }

AsyncClient::AsyncClient(asio::any_io_executor executor, const ClientOptions& options)
    : state_(std::make_shared<AsyncState>(std::move(executor), options)) {}
Awaitable<AsyncSandbox> AsyncClient::create(CreateOptions options) const {
  return create_one(state_, std::move(options));
}
Awaitable<AsyncEnsured> AsyncClient::ensure(std::string claim, CreateOptions options) const {
  return ensure_one(state_, std::move(claim), std::move(options));
}
AsyncSandbox AsyncClient::sandbox(std::string id_or_name) const {
  return {state_, std::move(id_or_name)};
}
Awaitable<std::vector<SandboxInfo>> AsyncClient::list(ListOptions options) const {
  return unwrap(state_, api::list(state_->connection, std::move(options)));
}
Awaitable<CodeResult> AsyncClient::run_code(std::string code, CodeOptions options,
                                            CreateOptions sandbox) const {
  return unwrap(state_, api::run_code_once(state_->connection, std::move(code), std::move(options),
                                           std::move(sandbox)));
}
Awaitable<std::vector<Feature>> AsyncClient::doctor() const {
  return unwrap(state_, api::doctor(state_->connection));
}
Awaitable<Version> AsyncClient::version() const {
  return unwrap(state_, api::version(state_->connection));
}
Awaitable<std::string> AsyncClient::request(std::string method, std::string target,
                                            std::string json) const {
  return unwrap(state_,
                state_->connection.call(std::move(method), std::move(target), std::move(json)));
}

}  // namespace cay::sdk
