#include "keeper/command_clocks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cay::keeper {
namespace {

std::int64_t clocks_now = 0;

class CommandClocksTest : public ::testing::Test {
 protected:
  CommandClocksTest() { clocks_now = 1000; }
  void start(wire::StartCommand request) {
    clocks.set(request);
    clocks.start();
  }
  // Time passes, and what is due runs.
  void pass(std::int64_t millis) {
    clocks_now += millis;
    const Timer end = loop.after(0, [this] { loop.stop(); });
    loop.run();
    loop.go_on();
  }
  Loop loop{[] { return clocks_now; }};
  std::vector<KillCause> kills;
  std::string by;
  CommandClocks clocks{loop, 500, [this](KillCause cause, const std::string& who) {
                         kills.push_back(cause);
                         by = who;
                       }};
};

using Kills = std::vector<KillCause>;

wire::StartCommand limits(std::int64_t timeout_ms, std::int64_t idle_timeout_ms) {
  wire::StartCommand request;
  request.timeout_ms = timeout_ms;
  request.idle_timeout_ms = idle_timeout_ms;
  return request;
}

wire::StartCommand tied_to_its_reader() {
  wire::StartCommand request = limits(0, -1);
  request.kill_on_disconnect = true;
  return request;
}

TEST_F(CommandClocksTest, TheTimeoutKillsAlsoWhileSomebodyReads) {
  start(limits(100, 50));
  clocks.reader_came();
  pass(99);
  EXPECT_EQ(kills, Kills{});
  pass(1);
  EXPECT_EQ(kills, Kills{KillCause::kTimeout});
}

TEST_F(CommandClocksTest, TheIdleTimeoutCountsFromTheLastReadersLeave) {
  start(limits(0, 100));
  clocks.reader_came();
  clocks.reader_came();
  pass(1000);
  clocks.reader_left(false);
  pass(1000);
  EXPECT_EQ(kills, Kills{});
  clocks.reader_left(false);
  pass(99);
  EXPECT_EQ(kills, Kills{});
  pass(1);
  EXPECT_EQ(kills, Kills{KillCause::kIdle});
}

TEST_F(CommandClocksTest, APauseBeforeTheStartHoldsBothTimeouts) {
  clocks.pause();
  start(limits(200, 100));
  pass(1000);
  EXPECT_EQ(kills, Kills{});
  clocks.resume();
  pass(100);
  EXPECT_EQ(kills, Kills{KillCause::kIdle});
  pass(100);
  EXPECT_EQ(kills, (Kills{KillCause::kIdle, KillCause::kTimeout}));
}

TEST_F(CommandClocksTest, AfterTheEndNothingIsKilled) {
  start(limits(100, 100));
  clocks.end();
  clocks.reader_came();
  clocks.reader_left(false);
  pass(1000);
  EXPECT_EQ(kills, Kills{});
}

TEST_F(CommandClocksTest, AReaderThatLeavesTakesItsCommandAlong) {
  start(tied_to_its_reader());
  clocks.reader_came();
  clocks.reader_left(false);
  EXPECT_EQ(kills, Kills{KillCause::kRequest});
  EXPECT_EQ(by, "disconnect");
}

TEST_F(CommandClocksTest, ALostReaderHasTheGraceTimeOfTheNextDaemon) {
  start(tied_to_its_reader());
  clocks.reader_came();
  clocks.daemon_left();
  clocks.reader_left(true);
  pass(10'000);
  EXPECT_EQ(kills, Kills{});
  clocks.daemon_returned();
  pass(499);
  clocks.daemon_left();
  pass(10'000);
  clocks.daemon_returned();
  pass(499);
  EXPECT_EQ(kills, Kills{});
  pass(1);
  EXPECT_EQ(kills, Kills{KillCause::kRequest});
  EXPECT_EQ(by, "disconnect");
}

TEST_F(CommandClocksTest, ALostReaderThatComesBackKeepsTheCommand) {
  start(tied_to_its_reader());
  clocks.reader_came();
  clocks.reader_left(true);
  clocks.daemon_returned();
  clocks.reader_came();
  pass(10'000);
  EXPECT_EQ(kills, Kills{});
}

}  // namespace
}  // namespace cay::keeper
