// The commands of the daemon's side share how their arguments are parsed and how they end.
#pragma once
#include <optional>

#include "base/error.h"

namespace CLI {
class App;
}

namespace cay::app {

inline constexpr int kFailure = 125;  // Cay's own failure, as `cay run` has it

// Prints the help or what is wrong with the arguments, and returns the exit code (`wrong` for
// wrong ones). Returns nullopt if the command is to run.
std::optional<int> parse_words(CLI::App& app, int argc, char** argv, int wrong = kFailure);

// Prints the error on stderr behind the command's name ("cay key") and returns kFailure.
int fail(const char* command, const Error& error);

}  // namespace cay::app
