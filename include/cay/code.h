// The values of run_code: a program as text, and what came of it.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cay/types.h"

namespace cay::sdk {

struct CodeOptions {
  std::string language;  // python, java, javascript, cpp, go, ruby, bash, r, typescript
  std::string input{};   // stdin of the program
  std::vector<std::string> args{};
  std::vector<std::string> libraries{};  // as the language's own manager names them
  Env env{};
  std::string cwd{};
  std::string user{};
  std::optional<double> timeout_s{};  // of the program; absent: the daemon's default (60)
  std::optional<std::uint64_t> max_output_bytes{};
};

// A file that the program left in $CAY_OUTPUT_DIR. It claims what it likes.
struct Artifact {
  std::string name;
  std::string mime;  // by the suffix of the name
  std::string bytes;
};

struct CodeResult {
  std::string language;
  std::string phase;    // run; install or compile: that failed, and the program did not start
  bool ok = false;      // the program ran and exited with 0
  CommandInfo command;  // of the phase: its state, exit code, signal and times are true
  std::string out, err;
  bool truncated = false;  // `out` or `err` is not all of it
  std::vector<Artifact> artifacts{};
  std::vector<std::string> notes{};  // for people: why nothing was printed, which limit ended it
  std::string sandbox;
  std::string json;  // the answer as it came
};

}  // namespace cay::sdk
