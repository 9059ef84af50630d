#include "cay/async_client.h"

#include <utility>

#include "client/api.h"
#include "client/errors.h"
#include "client/json_write.h"
#include "client/tunnel_stream.h"

namespace cay::sdk {

namespace api = cay::client;

struct AsyncState {
  AsyncState(asio::any_io_executor executor, const ClientOptions& options)
      : connection(std::move(executor), options) {}
  api::Connection connection;
};

struct AsyncCommandState {
  std::shared_ptr<AsyncState> client;  // outlives the stream
  std::unique_ptr<api::CommandStream> stream;
};

struct AsyncTunnelState {
  std::shared_ptr<AsyncState> client;  // outlives the stream
  std::unique_ptr<api::TunnelStream> stream;
};

namespace {

constexpr std::size_t kMaxFile = 1u << 30;  // what read_file() holds in memory

// `keep` holds what `task` refers to.
template <class Keep, class T>
Awaitable<T> unwrap([[maybe_unused]] std::shared_ptr<Keep> keep, Task<T> task) {
  auto got = co_await std::move(task);
  if (!got) api::raise(std::move(got).error());
  if constexpr (!std::is_void_v<T>) co_return *std::move(got);
}

Awaitable<AsyncCommand> spawn_spec(std::shared_ptr<AsyncState> client, std::string ref,
                                   api::json::object spec) {
  auto got =
      co_await api::CommandStream::start(client->connection, std::move(ref), std::move(spec));
  if (!got) api::raise(std::move(got).error());
  auto state = std::make_shared<AsyncCommandState>(AsyncCommandState{client, *std::move(got)});
  co_return AsyncCommand(std::move(state));
}

Awaitable<std::string> read_whole(std::shared_ptr<AsyncState> client, std::string ref,
                                  std::string path, std::string user) {
  auto source =
      co_await api::read_file(client->connection, std::move(ref), std::move(path), std::move(user));
  if (!source) api::raise(std::move(source).error());
  auto bytes = co_await read_all(*std::move(source), kMaxFile);
  if (!bytes) api::raise(std::move(bytes).error());
  co_return *std::move(bytes);
}

}  // namespace

const std::string& AsyncCommand::id() const { return state_->stream->id(); }
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

Awaitable<SandboxInfo> AsyncSandbox::info() const {
  return unwrap(client_, api::get(client_->connection, ref_));
}
Awaitable<SandboxInfo> AsyncSandbox::update(UpdateOptions options) const {
  return unwrap(client_, api::update(client_->connection, ref_, std::move(options)));
}
Awaitable<SandboxInfo> AsyncSandbox::start(double timeout_s) const {
  return unwrap(client_, api::start(client_->connection, ref_, timeout_s));
}
Awaitable<SandboxInfo> AsyncSandbox::stop() const {
  return unwrap(client_, api::stop(client_->connection, ref_));
}
Awaitable<SandboxInfo> AsyncSandbox::pause() const {
  return unwrap(client_, api::pause(client_->connection, ref_));
}
Awaitable<SandboxInfo> AsyncSandbox::resume() const {
  return unwrap(client_, api::resume(client_->connection, ref_));
}
Awaitable<void> AsyncSandbox::remove() const {
  return unwrap(client_, api::remove(client_->connection, ref_));
}
Awaitable<Stats> AsyncSandbox::stats() const {
  return unwrap(client_, api::stats(client_->connection, ref_));
}

Awaitable<AsyncCommand> AsyncSandbox::spawn(std::vector<std::string> argv,
                                            CommandOptions options) const {
  return spawn_spec(client_, ref_, api::command_body(argv, api::Line::kArgv, options));
}

namespace {

Awaitable<CommandResult> run_spec(std::shared_ptr<AsyncState> client, std::string ref,
                                  api::json::object spec) {
  auto command = co_await spawn_spec(std::move(client), std::move(ref), std::move(spec));
  co_return co_await command.wait();
}

Awaitable<AsyncCommand> attach_to(std::shared_ptr<AsyncState> client, std::string ref,
                                  std::string id, Offsets from) {
  auto got =
      co_await api::CommandStream::attach(client->connection, std::move(ref), std::move(id), from);
  if (!got) api::raise(std::move(got).error());
  auto state = std::make_shared<AsyncCommandState>(AsyncCommandState{client, *std::move(got)});
  co_return AsyncCommand(std::move(state));
}

Awaitable<AsyncTunnel> connect_to(std::shared_ptr<AsyncState> client, std::string ref,
                                  std::uint16_t port) {
  auto got = co_await api::TunnelStream::open(client->connection, std::move(ref), port);
  if (!got) api::raise(std::move(got).error());
  auto state = std::make_shared<AsyncTunnelState>(AsyncTunnelState{client, *std::move(got)});
  co_return AsyncTunnel(std::move(state));
}

Awaitable<AsyncSandbox> create_one(std::shared_ptr<AsyncState> client, CreateOptions options) {
  auto info = co_await api::create(client->connection, std::move(options));
  if (!info) api::raise(std::move(info).error());
  co_return AsyncSandbox(std::move(client), std::move(info->id));
}

}  // namespace

Awaitable<CommandResult> AsyncSandbox::run(std::vector<std::string> argv,
                                           CommandOptions options) const {
  return run_spec(client_, ref_, api::command_body(argv, api::Line::kArgv, options));
}
Awaitable<AsyncCommand> AsyncSandbox::attach(std::string command_id, Offsets from) const {
  return attach_to(client_, ref_, std::move(command_id), from);
}
Awaitable<std::vector<CommandInfo>> AsyncSandbox::commands() const {
  return unwrap(client_, api::commands(client_->connection, ref_));
}
Awaitable<void> AsyncSandbox::kill(std::string command_id, int signal) const {
  return unwrap(client_, api::kill(client_->connection, ref_, std::move(command_id), signal));
}
Awaitable<std::string> AsyncSandbox::read_file(std::string path, std::string user) const {
  return read_whole(client_, ref_, std::move(path), std::move(user));
}
Awaitable<FileInfo> AsyncSandbox::write_file(std::string path, std::string bytes,
                                             std::uint32_t mode, std::string user) const {
  return unwrap(client_, api::write_file(client_->connection, ref_, std::move(path), mode,
                                         std::move(user), source_of(std::move(bytes))));
}
Awaitable<std::vector<FileInfo>> AsyncSandbox::list(std::string path, std::string user) const {
  return unwrap(client_,
                api::list_directory(client_->connection, ref_, std::move(path), std::move(user)));
}
Awaitable<void> AsyncSandbox::remove_path(std::string path, bool recursive,
                                          std::string user) const {
  return unwrap(client_, api::remove_path(client_->connection, ref_, std::move(path), recursive,
                                          std::move(user)));
}

Awaitable<AsyncTunnel> AsyncSandbox::connect(std::uint16_t port) const {
  return connect_to(client_, ref_, port);
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
AsyncSandbox AsyncClient::sandbox(std::string id_or_name) const {
  return {state_, std::move(id_or_name)};
}
Awaitable<std::vector<SandboxInfo>> AsyncClient::list(ListOptions options) const {
  return unwrap(state_, api::list(state_->connection, std::move(options)));
}

}  // namespace cay::sdk
