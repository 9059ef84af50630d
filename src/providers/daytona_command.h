// DaytonaCommand: one command in a session of its own, and its output over a WebSocket that is made
// again where it broke off.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/client.h"

namespace cay::providers {

// Takes the marks out of a session's log. Each line begins with three bytes: 01 01 01 is stdout,
// 02 02 02 stderr. A mark may be split over pieces.
class DaytonaLog {
 public:
  std::string take(std::string_view piece);
  std::string end();  // bytes that could have become a mark

 private:
  std::string held_;
};

class DaytonaCommand {
 public:
  // `toolbox` is a client of the sandbox's toolbox, and outlives it. The session's name is `id`.
  DaytonaCommand(http::Client& toolbox, std::string id);

  // Runs `line`, or finds the command that the session of this name runs or ran.
  Task<void> begin(std::string line);
  // Finds it. Fails kNotFound (unknown_command).
  Task<void> find();

  // The next output, without marks. Empty: it has ended, and exit_code() is known. Fails
  // kUnavailable (provider_unreachable) after several losses in succession.
  Task<Bytes> next();
  // Its exit code; absent: it runs, or its shell ended with it.
  Task<std::optional<int>> exit_code();
  // All its output so far, without marks.
  Task<std::string> output();
  // The vendor's shell adds a line end where there is none.
  Task<void> write_input(std::string text);
  // Ends the command and its session.
  Task<void> remove();

 private:
  std::string target(std::string_view rest = {}) const;
  std::string command_target(std::string_view rest = {}) const;
  Task<bool> connect_once();
  Result<void> note_loss(const std::string& why);

  http::Client& toolbox_;
  std::string id_, command_;
  std::unique_ptr<http::WebSocket> socket_;
  DaytonaLog log_;
  std::uint64_t seen_ = 0;  // bytes of the log, marks included
  std::uint64_t skip_ = 0;  // of those that this connection repeats
  bool ended_ = false;
  int losses_ = 0;
};

}  // namespace cay::providers
