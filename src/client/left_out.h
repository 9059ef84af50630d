// leave_out: puts a name that a copy leaves out into its report, as a person reads it.
#pragma once
#include <string>
#include <string_view>

#include "cay/client.h"

namespace cay::client {

// The limits of a tree that is unpacked in a sandbox (docs/api.md). A copy out has the same depth.
inline constexpr std::size_t kMostDepth = 256;
inline constexpr std::size_t kMostPath = 4095;

inline constexpr const char* kTooDeep = "it lies deeper than 256 names";
inline constexpr const char* kNoFile = "not a file, directory or symbolic link";

// At most about 200 bytes: a long one's beginning and end.
std::string short_path(std::string_view path);

// Counts it, and names it while the report is not too long.
void leave_out(sdk::CopyReport& report, std::string_view path, std::string reason);

}  // namespace cay::client
