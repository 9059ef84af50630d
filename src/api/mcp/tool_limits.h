// Bounds of the tools: of what a call may send, and of what its result holds.
#pragma once
#include <cstdint>

namespace cay::api::mcp {

inline constexpr std::int64_t kMostBody = 8 << 20;       // bytes of one POST
inline constexpr std::int64_t kMostContent = 6 << 20;    // bytes of a file that is written
inline constexpr std::int64_t kMostWholeFile = 1 << 20;  // bytes of a file that is read
inline constexpr std::int64_t kMostEdit = 64 << 10;      // bytes of each text of an edit
inline constexpr std::int64_t kMostOutput = 1 << 20;     // bytes of each stream of a command
inline constexpr std::int64_t kUsualOutput = 64 << 10;
inline constexpr std::int64_t kMostMatches = 10'000;  // of glob and grep
inline constexpr std::int64_t kUsualMatches = 1000;
inline constexpr std::int64_t kMostListed = 500;  // sandboxes
inline constexpr std::int64_t kMostForks = 100;
inline constexpr std::int64_t kMostPolicy = 64 << 10;  // bytes of rules
inline constexpr std::int64_t kMostCpus = 1024;

}  // namespace cay::api::mcp
