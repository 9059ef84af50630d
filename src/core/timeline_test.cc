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
  const UnixMillis right = clock.wall();
  clock.reboot(hours(10), 0);  // no battery: 1970
  const LifeMillis newest_mark = begun + 30 * kHour + 5000;
  EXPECT_EQ(restart(newest_mark).now(), newest_mark);
  clock.set_wall_by(Millis(right) + hours(10));  // the time service sets it right
  clock.advance(hours(1));
  line->keep();
  EXPECT_EQ(line->now(), newest_mark + kHour);
  clock.reboot(hours(2));
  EXPECT_EQ(restart().now(), newest_mark + 3 * kHour);
}

// The time by which such a clock was behind did not pass.
TEST_F(TimelineTest, AHostThatStayedInThePastIsReckonedWithFromBefore) {
  for (const auto ran : {hours(5), hours(0)}) {
    const LifeMillis begun = restart().now();
    const UnixMillis then = clock.wall();
    clock.reboot(hours(10), 0);
    EXPECT_EQ(restart(begun).now(), begun);
    clock.advance(ran);
    line->keep();
    clock.reboot(hours(0), then + 20 * kHour);  // its clock was set right before the daemon began
    EXPECT_EQ(restart(begun).now(), begun + 20 * kHour) << ran.count();
    clock.advance(hours(2));
    line->keep();
  }
}

TEST_F(TimelineTest, ABootWithAClockInTheFutureDeletesNothingForAnHourAndIsTakenBack) {
  const LifeMillis begun = restart().now();
  EXPECT_FALSE(line->deletes_from());
  clock.advance(hours(1));
  clock.reboot(hours(24 * 20));  // off for two hours, and its clock is 20 days ahead
  const LifeMillis wrong = restart().now();
  EXPECT_EQ(wrong, begun + kHour + 24 * 20 * kHour);
  EXPECT_EQ(line->deletes_from(), wrong - clock.since_boot().count() + kHour);
  clock.advance(seconds(600));
  EXPECT_EQ(restart().deletes_from(), wrong - clock.since_boot().count() + 600'000 + kHour)
      << "another daemon in that boot knows";
  clock.set_wall_by(hours(2) - hours(24 * 20));  // the time service
  line->keep();
  EXPECT_EQ(line->now(), begun + 3 * kHour + 600'000);
  EXPECT_EQ(restart().now(), begun + 3 * kHour + 600'000);
  EXPECT_EQ(line->deletes_from(), line->now() - clock.since_boot().count() + kHour)
      << "it goes by that clock for an hour";
  clock.advance(hours(1));
  line->keep();
  // Later settings change nothing.
  clock.set_wall_by(-hours(24));
  line->keep();
  EXPECT_EQ(line->now(), begun + 4 * kHour + 600'000);
}

TEST_F(TimelineTest, AClockThatIsSetRightWhileNoDaemonIsThereIsTakenBack) {
  const LifeMillis begun = restart().now();
  clock.reboot(hours(24 * 20));  // off for two hours
  restart();
  clock.advance(seconds(30));  // before the next sweep
  clock.set_wall_by(hours(2) - hours(24 * 20));
  EXPECT_EQ(restart().now(), begun + 2 * kHour + 30'000);
  EXPECT_EQ(restart().now(), begun + 2 * kHour + 30'000) << "once";
}

TEST_F(TimelineTest, NorDoesItCountThatTheDaemonCameBackLater) {
  const LifeMillis begun = restart().now();
  clock.reboot(hours(24 * 20));
  restart();
  clock.set_wall_by(hours(2) - hours(24 * 20));
  clock.advance(hours(30));
  EXPECT_EQ(restart().now(), begun + 32 * kHour);
}

TEST_F(TimelineTest, ASettingInTheLastMinuteOfTheHourIsSeenByTheNextSweep) {
  const LifeMillis begun = restart().now();
  clock.reboot(hours(24 * 20));
  restart();
  clock.advance(seconds(3590));
  line->keep();
  clock.set_wall_by(hours(2) - hours(24 * 20));
  clock.advance(seconds(60));
  line->keep();
  EXPECT_EQ(line->now(), begun + 2 * kHour + 3'650'000);
}

// It was set right by the firmware, and the host booted again.
TEST_F(TimelineTest, ABootAfterAClockInTheFutureIsReckonedWithFromBefore) {
  const LifeMillis begun = restart().now();
  const UnixMillis then = clock.wall();
  clock.reboot(hours(24 * 20));
  const LifeMillis wrong = restart().now();
  clock.advance(seconds(300));
  clock.reboot(seconds(60), then + kHour);
  EXPECT_EQ(restart(wrong).now(), begun + kHour) << "marks that were made by it are wrong as well";
  EXPECT_TRUE(line->deletes_from());
}

TEST_F(TimelineTest, BootsOneAfterTheOtherCountTheirTimeOnce) {
  const LifeMillis begun = restart().now();
  for (int i = 0; i < 3; ++i) {
    clock.reboot(seconds(60));
    clock.advance(seconds(240));
    restart();
    clock.advance(seconds(60));
  }
  EXPECT_EQ(line->now(), begun + 3 * 360'000);
}

TEST_F(TimelineTest, TwoHoursAheadHoldDeletionsUpAsWell) {
  restart();
  clock.advance(hours(1));
  clock.reboot(hours(2));  // a clock in local time looks like a host that was off so long
  EXPECT_EQ(restart().deletes_from(), line->now() - clock.since_boot().count() + kHour);
}

TEST_F(TimelineTest, NoSettingOfTheClockGoesBackBeforeTheNewestMark) {
  const LifeMillis begun = restart().now();
  clock.reboot(hours(50));
  restart(begun + 30 * kHour);
  clock.set_wall_by(-hours(49));
  line->keep();
  EXPECT_EQ(line->now(), begun + 30 * kHour);
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
