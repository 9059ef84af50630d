// Completion scripts for shells. They get the names of sandboxes from `cay ls -q` and those of
// snapshots from `cay snapshot ls -q` when Tab is pressed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace cay::cli {

struct CompletionWord {
  std::string command, help;
  std::vector<std::string> options{};  // "--json"
  std::vector<std::string> actions{};  // one of these comes first
  bool takes_sandbox = false, takes_snapshot = false;
};

// `shell`: bash, zsh or fish.
std::string completion_script(std::string_view shell, const std::vector<CompletionWord>& words);

}  // namespace cay::cli
