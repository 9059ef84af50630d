#include "command_line.h"

#include <CLI/CLI.hpp>
#include <cstdio>

namespace cay::app {

std::optional<int> parse_words(CLI::App& app, int argc, char** argv, int wrong) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    std::fprintf(stderr, "cay: %s\nSee `%s --help`.\n", error.what(), app.get_name().c_str());
    return wrong;
  }
  return std::nullopt;
}

int fail(const char* command, const Error& error) {
  std::fprintf(stderr, "%s: %s\n", command, error.message.c_str());
  return kFailure;
}

}  // namespace cay::app
