// Peer: JSON-RPC 2.0 with one program, which sends requests too. A line is one message.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "async/event.h"
#include "codec/json.h"

namespace cay::agent::acp {

// JSON-RPC 2.0, 5.1.
inline constexpr int kParseError = -32700, kInvalidRequest = -32600, kMethodNotFound = -32601,
                     kInvalidParams = -32602, kInternalError = -32603;
// Codes that ACP adds.
inline constexpr int kAuthRequired = -32000, kNotFound = -32002;

class Peer {
 public:
  // `write` gets each message with its line break.
  Peer(asio::any_io_executor loop, std::function<void(std::string)> write)
      : loop_(std::move(loop)), write_(std::move(write)) {}

  // Sends a request and waits for its result. Fails kUnavailable (peer_refused) where the other
  // side answers with an error, and kCancelled (peer_gone) after close().
  Task<codec::json::value> request(std::string method, codec::json::object params);
  void notify(std::string_view method, codec::json::object params);
  void answer(const codec::json::value& id, codec::json::value result);
  void fail(const codec::json::value& id, int code, std::string_view message);

  // Takes a message that answers a request of ours. Returns false if it is none.
  bool take_answer(const codec::json::object& message);
  // No answers will come.
  void close();

 private:
  struct Waiting {
    explicit Waiting(asio::any_io_executor loop) : answered(std::move(loop)) {}
    Event answered;
    Result<codec::json::value> result = Error{};
  };
  void write(const codec::json::object& message);

  asio::any_io_executor loop_;
  std::function<void(std::string)> write_;
  std::map<std::uint64_t, std::shared_ptr<Waiting>> waiting_;  // by the id of the request
  std::uint64_t last_id_ = 0;
  bool closed_ = false;
};

}  // namespace cay::agent::acp
