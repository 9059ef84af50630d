#include "api/daytona/intervals.h"

#include <gtest/gtest.h>

#include "api/daytona/notes.h"

namespace cay::api::daytona {
namespace {

TEST(Intervals, ZeroAndMinusOneHaveTheVendorsMeaning) {
  Sandbox sandbox;
  sandbox.idle_ttl_s = idle_ttl_of(0);
  EXPECT_EQ(sandbox.idle_ttl_s, 0) << "never, in both";
  EXPECT_EQ(delete_after_stop_of(-1), 0) << "never";
  EXPECT_EQ(delete_after_stop_of(0), 1) << "at the stop";
  for (const std::int64_t minutes : {-1, 0, 1, 60, 43'200}) {
    sandbox.delete_after_stop_s = delete_after_stop_of(minutes);
    EXPECT_EQ(auto_delete_of(sandbox), minutes);
    if (minutes < 0) continue;
    sandbox.idle_ttl_s = idle_ttl_of(minutes);
    EXPECT_EQ(auto_stop_of(sandbox), minutes);
  }
}

TEST(Intervals, SecondsOfOtherClientsAreRoundedUp) {
  Sandbox sandbox;
  sandbox.idle_ttl_s = 61;
  EXPECT_EQ(auto_stop_of(sandbox), 2);
  sandbox.delete_after_stop_s = 30;
  EXPECT_EQ(auto_delete_of(sandbox), 1) << "0 would be at the stop";
}

TEST(Intervals, AStopIsArchivedByItsMarkOrByTime) {
  constexpr UnixMillis kDay = 86'400'000;
  Sandbox sandbox;
  sandbox.state = SandboxState::kStopped;
  sandbox.stopped_at = 1'000;
  EXPECT_FALSE(is_archived(sandbox, 1'001));
  EXPECT_TRUE(is_archived(sandbox, 1'000 + 7 * kDay)) << "the usual interval";
  sandbox.notes[kAutoArchiveNote] = "0";
  EXPECT_FALSE(is_archived(sandbox, 1'000 + 29 * kDay)) << "0: the longest";
  EXPECT_TRUE(is_archived(sandbox, 1'000 + 30 * kDay));
  sandbox.notes[kArchivedNote] = "1000";
  EXPECT_TRUE(is_archived(sandbox, 1'001));
  sandbox.stopped_at = 2'000;
  EXPECT_FALSE(is_archived(sandbox, 2'001)) << "a later stop is no archive";
  sandbox.stopped_at = 1'000;
  sandbox.state = SandboxState::kReady;
  EXPECT_FALSE(is_archived(sandbox, 1'000 + 30 * kDay));
}

}  // namespace
}  // namespace cay::api::daytona
