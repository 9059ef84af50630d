// McpBridge: passes MCP messages between lines of text and the daemon's /mcp. A line is one
// message.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "async/channel.h"
#include "async/scope.h"
#include "codec/json.h"
#include "http/client.h"

namespace cay::cli {

class McpBridge {
 public:
  // `write` gets each message for the client, with its line break.
  McpBridge(asio::any_io_executor loop, std::unique_ptr<http::Client> client,
            std::function<void(std::string)> write);
  ~McpBridge();

  // Reads lines until the end of `fd`, and then closes the input. Blocks: for a thread of its own.
  // It waits while many lines are not taken yet.
  void read_lines(int fd);
  // Serves until the input is closed, and cancels what is under way then.
  asio::awaitable<void> serve();

 private:
  struct Input;

  asio::awaitable<void> take_lines();
  asio::awaitable<void> take(std::string line);
  // Sends a message and writes what the daemon answers. `id` is null if no answer is due.
  asio::awaitable<void> forward(std::string line, codec::json::value id);
  asio::awaitable<void> forward_until(std::string line, codec::json::value id,
                                      std::shared_ptr<Event> cancelled);
  Task<void> exchange(std::string line, codec::json::value id);
  Task<void> pass_events(std::unique_ptr<ByteSource> body);
  void pass_answer(int status, const std::string& body, const codec::json::value& id);
  void note_version(const codec::json::object& answer);
  void fail(const codec::json::value& id, int code, const std::string& message);
  void write(const codec::json::value& message);

  asio::any_io_executor loop_;
  std::unique_ptr<http::Client> client_;
  std::function<void(std::string)> write_;
  std::shared_ptr<Input> input_;
  // The requests that are under way, by their ids.
  std::map<std::string, std::shared_ptr<Event>> in_flight_;
  bool ended_ = false;   // the input is closed
  std::string version_;  // of the protocol, once a handshake has chosen one
  Scope work_;
};

}  // namespace cay::cli
