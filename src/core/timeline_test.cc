#include "core/timeline.h"

#include <gtest/gtest.h>

#include "core/testing/fake_store.h"
#include "core/testing/manual_clock.h"

namespace cay::core {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr LifeMillis kHour = 3'600'000;

class TimelineTest : public ::testing::Test {
 protected:
  // A daemon's start.
  Timeline& restart(LifeMillis latest = 0) {
    line.emplace(clock, store);
    EXPECT_TRUE(line->open(latest));
    return *line;
  }
  testing::ManualClock clock;
  testing::FakeStore store;
  std::optional<Timeline> line;
};

TEST_F(TimelineTest, BeginsAsTheWallClock) { EXPECT_EQ(restart().now(), clock.wall()); }

TEST_F(TimelineTest, RunsOnAcrossARestartOfTheDaemon) {
  const LifeMillis begun = restart().now();
  clock.advance(hours(5));
  EXPECT_EQ(line->now(), begun + 5 * kHour);
  EXPECT_EQ(restart().now(), begun + 5 * kHour);
}

TEST_F(TimelineTest, DoesNotNoticeASettingOfTheClock) {
  const LifeMillis begun = restart().now();
  clock.set_wall_by(hours(24 * 365));
  EXPECT_EQ(line->now(), begun);
  EXPECT_EQ(restart().now(), begun);  // nor does one while the daemon is away
  clock.set_wall_by(-hours(24 * 3650));
  EXPECT_EQ(restart().now(), begun);
}

TEST_F(TimelineTest, CountsTheTimeTheHostWasOff) {
  const LifeMillis begun = restart().now();
  clock.advance(hours(1));
  clock.reboot(hours(10));
  EXPECT_EQ(restart().now(), begun + 11 * kHour);
}

TEST_F(TimelineTest, CountsItRightThoughTheClockWasSetBefore) {
  const LifeMillis begun = restart().now();
  clock.set_wall_by(hours(24 * 365));
  line->keep();
  clock.advance(hours(1));
  clock.reboot(hours(10));
  EXPECT_EQ(restart().now(), begun + 11 * kHour);
}

TEST_F(TimelineTest, AHostThatBootsInThePastOnlyLosesTheTimeItWasOff) {
  const LifeMillis begun = restart().now();
  clock.advance(hours(30));
  line->keep();
  clock.advance(seconds(10));
  clock.reboot(hours(10), 0);  // no battery: 1970
  const LifeMillis newest_mark = begun + 30 * kHour + 5000;
  EXPECT_EQ(restart(newest_mark).now(), newest_mark);
  clock.set_wall_by(hours(24 * 365 * 50));  // the time service sets it right
  clock.advance(hours(1));
  line->keep();
  EXPECT_EQ(line->now(), newest_mark + kHour);
  clock.reboot(hours(2));
  EXPECT_EQ(restart().now(), newest_mark + 3 * kHour);
}

TEST_F(TimelineTest, WritesAtMostEveryHourUnlessTheClockIsSet) {
  restart();
  const auto first = *store.get_meta("timeline");
  clock.advance(seconds(3599));
  line->keep();
  EXPECT_EQ(*store.get_meta("timeline"), first);
  clock.advance(seconds(1));
  line->keep();
  EXPECT_NE(*store.get_meta("timeline"), first);
}

TEST_F(TimelineTest, WhatItCannotReadIsAFirstStart) {
  ASSERT_TRUE(store.put_meta("timeline", "nonsense"));
  EXPECT_EQ(restart().now(), clock.wall());
}

}  // namespace
}  // namespace cay::core
