// What the commands of the daemon's side share: how their words are read, and how they end.
#pragma once
#include <optional>

#include "base/error.h"

namespace CLI {
class App;
}

namespace cay::app {

inline constexpr int kFailure = 125;  // Cay's own failure, as `cay run` has it

// The exit code if that is all: help was asked for, or the words are wrong (`wrong`), and both are said.
std::optional<int> parse_words(CLI::App& app, int argc, char** argv, int wrong = kFailure);

// Says it on stderr after the command's name, as "cay key". kFailure.
int fail(const char* command, const Error& error);

}  // namespace cay::app
