// The effects of instructions on an image's configuration.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "dockerfile/dockerfile.h"
#include "model/snapshot.h"

namespace cay::dockerfile {

// The PATH of programs where an image sets none.
inline constexpr std::string_view kDefaultPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

// A stage's configuration so far.
struct StageConfig {
  ImageConfig image{};
  std::vector<std::string> shell{"/bin/sh", "-c"};  // of the shell form
  bool has_command = false;                         // this stage has a CMD
  std::size_t ports_named = 0;                      // by EXPOSE, with repeats
};

// Applies an instruction whose variables are expanded, by Docker's rules. WORKDIR is relative to
// the one before. ENTRYPOINT removes a CMD that comes from the image, and keeps one of this stage.
// The shell form of CMD and ENTRYPOINT runs in the stage's shell. Instructions that change only
// files or variables of the build do nothing. Fails with kInvalidArgument (invalid_dockerfile), and
// the message has no line.
Result<void> apply(const Meaning& instruction, StageConfig& config);

// Returns the arguments of a program that runs the command.
std::vector<std::string> arguments_of(const CommandLine& command,
                                      const std::vector<std::string>& shell);

}  // namespace cay::dockerfile
