// Completion scripts for shells. They get the names of sandboxes from `cay ls -q` when Tab is
// pressed.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace cay::cli {

struct CompletionWord {
  std::string command, help;
  std::vector<std::string> options;  // "--json"
  bool takes_sandbox = false;
};

// `shell`: bash, zsh or fish.
std::string completion_script(std::string_view shell, const std::vector<CompletionWord>& words);

}  // namespace cay::cli
