// Programs that a handler runs to their end, by core's commands.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/common/collect.h"
#include "api/daytona/toolbox/request.h"
#include "model/command.h"

namespace cay::api::daytona {

struct Program {
  std::vector<std::string> argv;
  std::map<std::string, std::string> env{};
  std::string cwd{};                   // absolute; empty: the box's working directory
  std::optional<std::string> input{};  // its stdin; absent: at its end from the start
  std::int64_t timeout_ms = 0;         // 0: none
  bool keeps_working = false;          // the program goes on if the client leaves
};

struct RanProgram {
  int exit_code = 0;  // 128 + N stands for signal N
  std::string out;
  std::string err;
};

// Runs it to its end, with all its output. A program that fails is a result. Fails
// UNPROCESSABLE_ENTITY (more output than an answer holds), as exit_code_of() (ends.h), and as
// Commands::run().
Task<RanProgram> run_program(core::Cay& cay, Box box, Program program, AnswerPart part);

// The arguments that run a line in the user's shell: zsh, else bash, else sh, with stderr in
// stdout. A line that is longer than an argument may be comes in `input`.
Program shell_program(std::string line);

}  // namespace cay::api::daytona
