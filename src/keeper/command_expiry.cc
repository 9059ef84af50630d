#include "keeper/command_expiry.h"

#include <algorithm>

namespace cay::keeper {
namespace {

constexpr std::int64_t kForReader = 10'000;  // a daemon that is slow to attach still finds the end
constexpr std::int64_t kWhileRead = 1000;

}  // namespace

void CommandExpiry::ended(const std::string& id, CommandEntry& entry, std::int64_t since) {
  if (entry.ttl_ms < 0) return;
  constexpr std::int64_t kFar = std::int64_t{1} << 50;
  std::int64_t left = std::max<std::int64_t>(std::min(entry.ttl_ms, kFar) - since, 0);
  if (entry.awaits_reader) left = std::max(left, kForReader);
  entry.ended_at = monotonic_ms() - since;
  entry.expires_at = monotonic_ms() + left;
  due_.emplace(entry.expires_at, id);
  expire();
}

void CommandExpiry::reschedule(const std::string& id, CommandEntry& entry) {
  if (due_.erase({entry.expires_at, id}) > 0) ended(id, entry, monotonic_ms() - entry.ended_at);
}

void CommandExpiry::await_reader(const std::string& id, CommandEntry& entry) {
  entry.awaits_reader = true;
  reschedule(id, entry);
}

void CommandExpiry::reader_came(const std::string& id, CommandEntry& entry) {
  if (std::exchange(entry.awaits_reader, false)) reschedule(id, entry);
}

void CommandExpiry::remove(const std::string& id, const CommandEntry& entry) {
  due_.erase({entry.expires_at, id});
}

void CommandExpiry::daemon_parts() {
  daemon_here_ = false;
  timer_.reset();
  for (auto& [id, entry] : entries_) entry.awaits_reader = entry.awaits_reader || entry.is_read();
}

void CommandExpiry::daemon_returned() {
  daemon_here_ = true;
  const std::int64_t earliest = monotonic_ms() + kForReader;
  while (!due_.empty() && due_.begin()->first < earliest) {
    const std::string id = due_.begin()->second;
    due_.erase(due_.begin());
    entries_.find(id)->second.expires_at = earliest;
    due_.emplace(earliest, id);
  }
  expire();
}

void CommandExpiry::expire() {
  if (!daemon_here_) return;
  while (!due_.empty() && due_.begin()->first <= monotonic_ms()) {
    const auto found = entries_.find(due_.begin()->second);
    CommandEntry& entry = found->second;
    if (!entry.is_read()) {
      drop_(found->first);
      continue;
    }
    due_.erase(due_.begin());
    entry.expires_at = monotonic_ms() + kWhileRead;
    due_.emplace(entry.expires_at, found->first);
  }
  if (due_.empty()) return timer_.reset();
  timer_ = loop_.after(due_.begin()->first - monotonic_ms() + 1, [this] { expire(); });
}

}  // namespace cay::keeper
