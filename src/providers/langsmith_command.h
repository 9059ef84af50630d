// LangSmithCommand: one command over LangSmith's WebSocket, which is made again where it broke off.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "codec/json.h"
#include "http/client.h"

namespace cay::providers {

// A piece of output, or the end.
struct LangSmithEvent {
  std::string output{};
  bool ended = false;
  std::optional<int> exit_code{};
  std::string error_type{}, error{};  // an end without an exit
};

class LangSmithCommand {
 public:
  // `client` is the data plane's, and outlives it. `first` is an execute frame with a command_id: a
  // repeat of it attaches, and never runs the command twice.
  LangSmithCommand(http::Client& client, codec::json::object first);
  // Reads a command that was begun before, from these offsets on.
  LangSmithCommand(http::Client& client, const std::string& id, std::uint64_t out,
                   std::uint64_t err);

  // Returns once the server has begun or found it. A refusal is the event of next().
  Task<void> connect();
  // Fails kNotFound (sandbox_not_found) if the server knows no such sandbox, kUnavailable
  // (provider_unreachable) after several losses in succession.
  Task<LangSmithEvent> next();
  Task<void> send(codec::json::object frame);

  const std::string& id() const { return id_; }
  std::uint64_t out() const { return out_; }
  std::uint64_t err() const { return err_; }

 private:
  Task<void> connect_once();
  Result<std::optional<LangSmithEvent>> take(const codec::json::object& frame);
  Result<void> note_loss(const std::string& why);

  http::Client& client_;
  codec::json::object first_;
  std::string id_;
  std::unique_ptr<http::WebSocket> socket_;
  std::optional<LangSmithEvent> early_;  // an end in place of `started`
  bool started_ = false;
  std::uint64_t out_ = 0, err_ = 0;
  int losses_ = 0;
};

}  // namespace cay::providers
