// Command: one command of `cay`: its words for --help, its options and the function that does it.
//
// A command's file defines `Command NAME_entry()` beside its code, and CMakeLists.txt lists NAME
// under COMMANDS, in the order of --help. The parser, --help and completion read that list alone.
#pragma once
#include <any>
#include <functional>
#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/completion.h"
#include "cli/options.h"

namespace cay::cli {

inline constexpr const char* kCommandsGroup = "Commands";
inline constexpr const char* kHostGroup = "Host";

// The parts of a command line that are no option of one command.
struct Line {
  bool json = false;
  bool has_dashes = false;
  std::vector<std::string> after;  // behind "--"
  std::function<std::vector<CompletionWord>()> commands;
};

struct Command {
  std::string name, help, examples{};
  std::string long_name{};  // two words that mean it, too: "snapshot build"
  const char* group = kCommandsGroup;
  std::vector<std::string> actions{};  // for completion: one of these comes first
  bool takes_a_program = false;        // behind "--"
  bool takes_snapshot = false;         // for completion: as an argument
  bool shows_a_program = false;        // which gets the signals of this terminal
  std::function<void(Options& to)> options{};
  // Returns the arguments once the line is read. Throws wrong() and missing() of options.h.
  std::function<std::any(const Line& line)> args{};
  std::function<int(Context& at, const std::any& args)> run{};
};

// Command::run of a verb that takes `T`.
template <class T>
std::function<int(Context&, const std::any&)> runs(int (*verb)(Context&, const T&)) {
  return
      [verb](Context& at, const std::any& args) { return verb(at, std::any_cast<const T&>(args)); };
}

// All commands, in the order of --help. CMake writes it.
std::vector<Command> registered_commands();

}  // namespace cay::cli
