#include "keeper/kill_record.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "keeper/command_state.h"

namespace cay::keeper {
namespace {

class KillRecordTest : public ::testing::Test {
 protected:
  CommandState state_after(Exit exit, Fate fate = Fate::kSpared, std::uint32_t oom_kills = 0) {
    record = {};
    record.oom_kills = oom_kills;
    kills.classify(exit, fate, record);
    return static_cast<CommandState>(record.state);
  }
  KillRecord kills;
  wire::CommandMsg record;
};

constexpr Exit kKilled{.signalled = true, .value = SIGKILL};
constexpr Exit kTerminated{.signalled = true, .value = SIGTERM};

TEST_F(KillRecordTest, AnExitIsAnExitWhateverWasSent) {
  kills.killed(KillCause::kTimeout, {}, 0);
  EXPECT_EQ(state_after({.signalled = false, .value = 3}), CommandState::kExited);
  EXPECT_EQ(record.exit_code, 3);
}

TEST_F(KillRecordTest, ASignalThatTheKeeperDidNotSendIsNobodysWork) {
  EXPECT_EQ(state_after(kKilled), CommandState::kSignalled);
  EXPECT_EQ(record.signal, SIGKILL);
  kills.signalled(SIGTERM, "alice");
  EXPECT_EQ(state_after({.signalled = true, .value = SIGHUP}), CommandState::kSignalled);
  EXPECT_EQ(record.by, "");
}

TEST_F(KillRecordTest, TheFirstCauseCounts) {
  EXPECT_FALSE(kills.was_killed());
  kills.killed(KillCause::kIdle, {}, 0);
  kills.killed(KillCause::kRequest, "alice", 0);
  EXPECT_TRUE(kills.was_killed());
  EXPECT_EQ(state_after(kKilled), CommandState::kIdleKilled);
  EXPECT_EQ(record.by, "");
}

TEST_F(KillRecordTest, ARequestedKillNamesTheCaller) {
  kills.killed(KillCause::kRequest, "alice", 0);
  EXPECT_EQ(state_after(kKilled), CommandState::kKilled);
  EXPECT_EQ(record.by, "alice");
}

TEST_F(KillRecordTest, ASignalNamesTheFirstThatSentIt) {
  kills.signalled(SIGTERM, "alice");
  kills.signalled(SIGTERM, "bob");
  EXPECT_EQ(state_after(kTerminated), CommandState::kKilled);
  EXPECT_EQ(record.by, "alice");
}

TEST_F(KillRecordTest, LostInputIsALostCommand) {
  kills.killed(KillCause::kInputLost, {}, 0);
  EXPECT_EQ(state_after(kKilled), CommandState::kLost);
  EXPECT_EQ(record.signal, 0);
  EXPECT_NE(record.reason, "");
}

TEST_F(KillRecordTest, TheKernelsVictimIsNotTheKeepers) {
  kills.killed(KillCause::kTimeout, {}, 0);
  EXPECT_EQ(state_after(kKilled, Fate::kVictim, 1), CommandState::kOomKilled);
  EXPECT_EQ(state_after(kKilled, Fate::kSpared, 1), CommandState::kTimedOut);
}

TEST_F(KillRecordTest, AnUnnamedVictimIsBelievedIfTheKernelKilledAfterTheKeeper) {
  kills.killed(KillCause::kTimeout, {}, 1);
  EXPECT_EQ(state_after(kKilled, Fate::kUnknown, 1), CommandState::kTimedOut);
  EXPECT_EQ(state_after(kKilled, Fate::kUnknown, 2), CommandState::kOomKilled);
}

}  // namespace
}  // namespace cay::keeper
