// Approvals in a terminal: shows the calls that wait, and reads what is to become of them.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/loop/agent.h"

namespace cay::cli {

struct Questioner {
  // Prints `prompt` and returns a line; nullopt: the input has ended.
  std::function<std::optional<std::string>(const std::string& prompt)> read_line;
  std::function<void(std::string_view)> note;
  bool colour = false;
};

// Returns a decision for each call, in their order, bound to the arguments that were shown.
// nullopt: the input has ended.
std::optional<std::vector<agent::Decision>> ask_decisions(
    const std::vector<agent::PendingCall>& calls, const Questioner& questioner);

// The calls with all of their arguments, for people.
std::string pending_text(const std::vector<agent::PendingCall>& calls, bool colour);

}  // namespace cay::cli
