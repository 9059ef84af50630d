// The vendor counts times in minutes, and core in seconds. 0 and -1 have a meaning of their own in
// each of the intervals.
#pragma once
#include <cstdint>

#include "base/clock.h"
#include "model/sandbox.h"

namespace cay::api::daytona {

inline constexpr std::int64_t kMostMinutes = 10LL * 365 * 24 * 60;  // as core's longest timer
inline constexpr std::int64_t kUsualAutoStop = 15;
inline constexpr std::int64_t kLongestAutoArchive = 30 * 24 * 60;
inline constexpr std::int64_t kUsualAutoArchive = 7 * 24 * 60;

// Auto-stop: 0 is never, in both.
std::int64_t idle_ttl_of(std::int64_t minutes);
std::int64_t auto_stop_of(const Sandbox& sandbox);

// Auto-delete: below 0 is never. 0 is at the stop, which is core's second after it.
std::int64_t delete_after_stop_of(std::int64_t minutes);
std::int64_t auto_delete_of(const Sandbox& sandbox);  // -1: never

// Auto-archive: 0 is the longest interval, kLongestAutoArchive.
std::int64_t auto_archive_of(const Sandbox& sandbox);
// Whether a stopped sandbox counts as archived at `now`.
bool is_archived(const Sandbox& sandbox, UnixMillis now);

}  // namespace cay::api::daytona
