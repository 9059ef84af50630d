// argv -> Invocation. It and parse_rules.h alone know CLI11.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/args.h"
#include "cli/cli.h"

namespace cay::cli {

struct Parsed {
  std::optional<Invocation> invocation;  // absent: print `out` and `err`, and end with `code`
  int code = 0;
  std::string out, err;
};

// `args` without the program's name.
Parsed parse(const std::vector<std::string>& args, const std::vector<Hook>& hooks);

}  // namespace cay::cli
