#include "core/timeline.h"

#include <algorithm>
#include <sstream>

namespace cay::core {
namespace {

constexpr const char* kKey = "timeline";
constexpr std::int64_t kSettles = 3'600'000;  // a time service has set the clock by then
constexpr std::int64_t kWriteEvery = 3'600'000;
constexpr std::int64_t kClockWasSet = 1000;  // less is drift, and clocks read one after the other

}  // namespace

Result<void> Timeline::open(LifeMillis latest) {
  CAY_TRY(const auto stored, store_.get_meta(kKey));
  const auto anchor = stored ? anchor_of(*stored) : std::nullopt;
  const std::int64_t since_boot = clock_.since_boot().count();
  if (anchor && anchor->boot_id == clock_.boot_id() && since_boot >= anchor->since_boot) {
    base_ = anchor->now -
            anchor->since_boot;  // exact: a mark that is later is wrong, and moves nothing
    before_ = before_of(*stored);
    written_offset_ = anchor->wall - anchor->since_boot;
    looked_at_ = anchor->since_boot;
    take_back();  // the clock may have been set right while no daemon was there
  } else if (anchor) {
    before_ = before_boot(*anchor, before_of(*stored), latest);
    base_ = reckoned(*before_) - since_boot;
  } else {
    base_ = std::max(latest, clock_.wall()) -
            since_boot;  // the first start: it begins as the wall clock's
  }
  return write();
}

// Stored as "BOOT_ID SINCE_BOOT WALL NOW"; then, in a boot that is not the store's first, where the
// time stood before it.
std::optional<Timeline::Anchor> Timeline::anchor_of(const std::string& text) {
  std::istringstream in(text);
  Anchor out;
  in >> out.boot_id >> out.since_boot >> out.wall >> out.now;
  if (in.fail()) return std::nullopt;
  return out;
}

std::optional<Timeline::Before> Timeline::before_of(const std::string& text) {
  std::istringstream in(text);
  std::string boot_id;
  std::int64_t since_boot = 0, wall = 0, now = 0;
  Before out;
  in >> boot_id >> since_boot >> wall >> now >> out.now >> out.wall >> out.latest >> out.since_boot;
  if (in.fail()) return std::nullopt;
  return out;
}

// `last`: of the boot before this one; `known`: where the time stood before that one. A clock that
// was not found right there is not gone by here either: then the time goes on from before both.
Timeline::Before Timeline::before_boot(const Anchor& last, const std::optional<Before>& known,
                                       LifeMillis latest) const {
  const std::int64_t since_boot = clock_.since_boot().count();
  // In the past, and never set right: what it lacks to the right time is not time that passed.
  if (known && last.wall < known->wall) {
    return {.now = known->now,
            .wall = known->wall,
            .latest = std::max(latest, last.now),
            .since_boot = since_boot};
  }
  // Perhaps in the future: then the marks made by it are wrong as well.
  if (known && last.since_boot < kSettles) {
    return {
        .now = known->now, .wall = known->wall, .latest = known->latest, .since_boot = since_boot};
  }
  return {.now = last.now, .wall = last.wall, .latest = latest, .since_boot = since_boot};
}

LifeMillis Timeline::reckoned(const Before& before) const {
  const std::int64_t since = clock_.since_boot().count() - before.since_boot;
  return std::max(before.latest,
                  before.now + std::max<std::int64_t>(0, clock_.wall() - since - before.wall)) +
         since;
}

std::optional<LifeMillis> Timeline::deletes_from() const {
  if (!before_) return std::nullopt;
  return base_ + kSettles;
}

bool Timeline::was_set() const {
  const std::int64_t moved = wall_offset() - written_offset_;
  return moved > kClockWasSet || moved < -kClockWasSet;
}

// Later, never earlier: nobody has been deleted by what was wrong. That it was set within the hour
// is all that is known where nobody looked since.
void Timeline::take_back() {
  if (!before_ || looked_at_ >= kSettles || !was_set()) return;
  base_ -= std::max<LifeMillis>(0, now() - reckoned(*before_));
}

void Timeline::keep() {
  take_back();
  looked_at_ = clock_.since_boot().count();
  if (!was_set() && now() - written_at_ < kWriteEvery) return;
  // If the store refuses now, the next sweep tries again.
  static_cast<void>(write());
}

Result<void> Timeline::write() {
  const std::int64_t since_boot = clock_.since_boot().count();
  std::ostringstream text;
  text << clock_.boot_id() << ' ' << since_boot << ' ' << clock_.wall() << ' '
       << base_ + since_boot;
  if (before_)
    text << ' ' << before_->now << ' ' << before_->wall << ' ' << before_->latest << ' '
         << before_->since_boot;
  CAY_CHECK(store_.put_meta(kKey, text.str()));
  written_offset_ = wall_offset();
  written_at_ = base_ + since_boot;
  looked_at_ = since_boot;
  return {};
}

}  // namespace cay::core
