// AsyncClient: Cay from coroutines of Boost.Asio, on the caller's executor. The same verbs as
// cay::Client; everything throws cay::ApiError. Handles stay on the executor they were made for.
//
//   asio::awaitable<void> hello() {
//     cay::AsyncClient cay(co_await asio::this_coro::executor);
//     auto box = co_await cay.create();
//     std::vector<std::string> argv{"uname", "-a"};
//     auto got = co_await box.run(argv);
//     std::cout << got.out;
//     co_await box.remove();
//   }
#pragma once
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cay/error.h"
#include "cay/types.h"

namespace cay::sdk {

template <class T>
using Awaitable = boost::asio::awaitable<T>;

struct AsyncState;         // of the implementation
struct AsyncCommandState;  // of the implementation
struct AsyncTunnelState;   // of the implementation

class AsyncCommand {
 public:
  const std::string& id() const;
  Awaitable<Event> next();  // one caller at a time
  Awaitable<CommandResult> wait(OutputCallbacks callbacks = {}, std::size_t keep = 16u << 20);
  Awaitable<void> write_stdin(std::string bytes);
  Awaitable<void> close_stdin();
  Awaitable<void> kill(int signal = 0);
  Awaitable<void> resize(TerminalSize size);

  explicit AsyncCommand(std::shared_ptr<AsyncCommandState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<AsyncCommandState> state_;
};

// One TCP connection to what listens inside. The last handle's end resets one that is not over.
class AsyncTunnel {
 public:
  Awaitable<std::string> read();             // one caller at a time; "": the program sends no more
  Awaitable<void> write(std::string bytes);  // done when they are on their way: back-pressure
  Awaitable<void> shut_write();              // the program inside reads to its end

  explicit AsyncTunnel(std::shared_ptr<AsyncTunnelState> state) : state_(std::move(state)) {}

 private:
  std::shared_ptr<AsyncTunnelState> state_;
};

class AsyncSandbox {
 public:
  const std::string& ref() const { return ref_; }
  Awaitable<SandboxInfo> info() const;
  Awaitable<SandboxInfo> update(UpdateOptions options) const;
  Awaitable<SandboxInfo> start(double timeout_s = 60) const;
  Awaitable<SandboxInfo> stop() const;
  Awaitable<SandboxInfo> pause() const;
  Awaitable<SandboxInfo> resume() const;
  Awaitable<void> remove() const;
  Awaitable<Stats> stats() const;

  Awaitable<CommandResult> run(std::vector<std::string> argv, CommandOptions options = {}) const;
  Awaitable<AsyncCommand> spawn(std::vector<std::string> argv, CommandOptions options = {}) const;
  Awaitable<AsyncCommand> attach(std::string command_id, Offsets from = {}) const;
  Awaitable<std::vector<CommandInfo>> commands() const;
  Awaitable<void> kill(std::string command_id, int signal = 0) const;

  Awaitable<std::string> read_file(std::string path, std::string user = {}) const;
  Awaitable<FileInfo> write_file(std::string path, std::string bytes, std::uint32_t mode = 0,
                                 std::string user = {}) const;
  Awaitable<std::vector<FileInfo>> list(std::string path, std::string user = {}) const;
  Awaitable<void> remove_path(std::string path, bool recursive = false,
                              std::string user = {}) const;

  // A connection to `port` of the sandbox's own loopback. ApiError kNotReady "connect_refused".
  Awaitable<AsyncTunnel> connect(std::uint16_t port) const;

  AsyncSandbox(std::shared_ptr<AsyncState> client, std::string ref)
      : client_(std::move(client)), ref_(std::move(ref)) {}

 private:
  std::shared_ptr<AsyncState> client_;
  std::string ref_;
};

class AsyncClient {
 public:
  explicit AsyncClient(boost::asio::any_io_executor executor,
                       const ClientOptions& options = ClientOptions::from_environment());
  Awaitable<AsyncSandbox> create(CreateOptions options = {}) const;
  AsyncSandbox sandbox(std::string id_or_name) const;
  Awaitable<std::vector<SandboxInfo>> list(ListOptions options = {}) const;

 private:
  std::shared_ptr<AsyncState> state_;
};

}  // namespace cay::sdk

namespace cay {
using sdk::AsyncClient;
}
