#include "api/daytona/intervals.h"

#include <charconv>

#include "api/daytona/notes.h"

namespace cay::api::daytona {
namespace {

constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kMinuteMillis = 60'000;
constexpr std::int64_t kAtTheStop = 1;

std::int64_t whole_minutes(std::int64_t seconds) { return (seconds + kMinute - 1) / kMinute; }

}  // namespace

std::int64_t idle_ttl_of(std::int64_t minutes) { return minutes * kMinute; }

std::int64_t auto_stop_of(const Sandbox& sandbox) { return whole_minutes(sandbox.idle_ttl_s); }

std::int64_t delete_after_stop_of(std::int64_t minutes) {
  if (minutes < 0) return 0;
  return minutes == 0 ? kAtTheStop : minutes * kMinute;
}

std::int64_t auto_delete_of(const Sandbox& sandbox) {
  if (sandbox.delete_after_stop_s == 0) return -1;
  if (sandbox.delete_after_stop_s == kAtTheStop) return 0;
  return whole_minutes(sandbox.delete_after_stop_s);
}

std::int64_t auto_archive_of(const Sandbox& sandbox) {
  const std::string text = note_of(sandbox, kAutoArchiveNote);
  std::int64_t minutes = kUsualAutoArchive;
  std::from_chars(text.data(), text.data() + text.size(), minutes);
  return minutes;
}

bool is_archived(const Sandbox& sandbox, UnixMillis now) {
  if (sandbox.state != SandboxState::kStopped || !sandbox.stopped_at) return false;
  if (note_of(sandbox, kArchivedNote) == std::to_string(*sandbox.stopped_at)) return true;
  std::int64_t minutes = auto_archive_of(sandbox);
  if (minutes == 0) minutes = kLongestAutoArchive;
  return *sandbox.stopped_at + minutes * kMinuteMillis <= now;
}

}  // namespace cay::api::daytona
