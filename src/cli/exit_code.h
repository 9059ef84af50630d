// Exit codes that are not a command's own, and which errors mean that a command could not be begun.
#pragma once
#include <string_view>

#include "cay/error.h"

namespace cay::cli {

constexpr int kOk = 0;
constexpr int kLeftOut = 1;   // of cp: the rest was copied
constexpr int kMissing = 1;   // of doctor FEATURE: the host lacks it
constexpr int kBadBuild = 1;  // of build: the Dockerfile or one of its steps failed
constexpr int kNotClean = 1;  // of snapshot fsck: something is wrong
constexpr int kTimedOut = 124;
constexpr int kOurFailure = 125;
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;
constexpr int kInterrupted = 130;
constexpr int kBrokenPipe = 141;

inline int exit_code_of(const ApiError& error) {
  if (error.reason() == "command_not_found" || error.reason() == "toolchain_missing")
    return kNotFound;
  if (error.reason() == "not_executable") return kNotExecutable;
  for (const std::string_view reason :
       {"build_failed", "invalid_dockerfile", "dockerfile_unsupported", "packages_failed"}) {
    if (error.reason() == reason) return kBadBuild;
  }
  return kOurFailure;
}

}  // namespace cay::cli
