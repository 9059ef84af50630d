#include "core/timeline.h"

#include <algorithm>
#include <sstream>

namespace cay::core {
namespace {

constexpr const char* kKey = "timeline";
constexpr std::int64_t kWriteEvery = 3'600'000;
constexpr std::int64_t kClockWasSet = 1000;  // less is drift, and clocks read one after the other

// "BOOT_ID SINCE_BOOT WALL NOW": one moment, as three clocks told it.
struct Anchor {
  std::string boot_id;
  std::int64_t since_boot = 0;
  UnixMillis wall = 0;
  LifeMillis now = 0;
};

std::optional<Anchor> parse(const std::string& text) {
  std::istringstream in(text);
  Anchor out;
  in >> out.boot_id >> out.since_boot >> out.wall >> out.now;
  if (in.fail()) return std::nullopt;
  return out;
}

}  // namespace

Result<void> Timeline::open(LifeMillis latest) {
  CAY_TRY(const auto stored, store_.get_meta(kKey));
  const auto anchor = stored ? parse(*stored) : std::nullopt;
  const std::int64_t since_boot = clock_.since_boot().count();
  LifeMillis now = 0;
  if (anchor && anchor->boot_id == clock_.boot_id() && since_boot >= anchor->since_boot) {
    now = anchor->now + since_boot - anchor->since_boot;  // exact: a mark that is later is wrong, and moves nothing
  } else if (anchor) {
    now = std::max(latest, anchor->now + std::max<std::int64_t>(0, clock_.wall() - anchor->wall));
  } else {
    now = std::max(latest, clock_.wall());  // the first start: it begins as the wall clock's
  }
  base_ = now - since_boot;
  return write();
}

void Timeline::keep() {
  const std::int64_t moved = wall_offset() - written_offset_;
  const bool was_set = moved > kClockWasSet || moved < -kClockWasSet;
  if (!was_set && now() - written_at_ < kWriteEvery) return;
  // A store that refuses now is asked again at the next sweep.
  static_cast<void>(write());
}

Result<void> Timeline::write() {
  const std::int64_t since_boot = clock_.since_boot().count();
  std::ostringstream text;
  text << clock_.boot_id() << ' ' << since_boot << ' ' << clock_.wall() << ' ' << base_ + since_boot;
  CAY_CHECK(store_.put_meta(kKey, text.str()));
  written_offset_ = wall_offset();
  written_at_ = base_ + since_boot;
  return {};
}

}  // namespace cay::core
