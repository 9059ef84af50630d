// The command line of Cay: every command but those that the program adds as hooks (serve, launcher,
// key), which are not clients.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace cay::cli {

// A command that is not ours: it gets argv from its own name on.
struct Hook {
  std::string name;
  std::string help;  // one line
  std::function<int(int argc, char** argv)> run;
  std::string alias{};  // another name of it
  bool is_called(std::string_view word) const {
    return word == name || (!alias.empty() && word == alias);
  }
};

// Exit codes: the command's own for run, exec and attach; 124 timed out; 125 Cay's own failure,
// wrong usage too; 126 and 127 as in a shell; 128+N signalled. Never throws.
int run(int argc, char** argv, const std::vector<Hook>& hooks = {});

}  // namespace cay::cli
