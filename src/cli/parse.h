// argv -> Invocation, by the registered commands. It and options.h alone know CLI11.
#pragma once
#include <any>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/command.h"

namespace cay::cli {

struct Invocation {
  std::any args;  // of the command: for `run`, and for tests
  std::function<int(Context& at, const std::any& args)> run;
  bool json = false;
  bool shows_a_program = false;
};

struct Parsed {
  std::optional<Invocation> invocation;  // absent: print `out` and `err`, and end with `code`
  int code = 0;
  std::string out, err;
};

// `args` without the program's name.
Parsed parse(const std::vector<std::string>& args, const std::vector<Hook>& hooks,
             std::vector<Command> commands = registered_commands());

}  // namespace cay::cli
