#include "keeper/pausable_timer.h"

#include <gtest/gtest.h>

namespace cay::keeper {
namespace {

std::int64_t fake_now = 0;

class PausableTimerTest : public ::testing::Test {
 protected:
  PausableTimerTest() { fake_now = 1000; }
  void start(std::int64_t millis, bool paused = false) {
    timer.start(loop, millis, [this] { ++fired; }, paused);
  }
  // Time passes, and what is due runs.
  void pass(std::int64_t millis) {
    fake_now += millis;
    const Timer end = loop.after(0, [this] { loop.stop(); });
    loop.run();
    loop.go_on();
  }
  Loop loop{[] { return fake_now; }};
  PausableTimer timer;
  int fired = 0;
};

TEST_F(PausableTimerTest, FiresOnceAtItsTime) {
  start(100);
  pass(99);
  EXPECT_EQ(fired, 0);
  pass(1);
  EXPECT_EQ(fired, 1);
  pass(1000);
  EXPECT_EQ(fired, 1);
}

TEST_F(PausableTimerTest, NoTimePassesWhileItIsPaused) {
  start(100);
  pass(60);
  timer.pause();
  pass(1'000'000);
  EXPECT_EQ(fired, 0);
  timer.resume();
  pass(39);
  EXPECT_EQ(fired, 0);
  pass(1);
  EXPECT_EQ(fired, 1);
}

TEST_F(PausableTimerTest, PausesAddUpAndRepeatsDoNothing) {
  start(100);
  for (int i = 0; i < 9; ++i) {
    pass(10);
    timer.pause();
    timer.pause();
    pass(500);
    timer.resume();
    timer.resume();
  }
  EXPECT_EQ(fired, 0);
  pass(10);
  EXPECT_EQ(fired, 1);
}

TEST_F(PausableTimerTest, StartedWhilePausedItBeginsAtTheResume) {
  start(100, true);
  pass(500);
  timer.resume();
  pass(99);
  EXPECT_EQ(fired, 0);
  pass(1);
  EXPECT_EQ(fired, 1);
}

TEST_F(PausableTimerTest, ResetIsTheEndOfIt) {
  start(100);
  timer.pause();
  timer.reset();
  timer.resume();
  pass(500);
  EXPECT_EQ(fired, 0);
  start(100);
  timer.reset();
  pass(500);
  EXPECT_EQ(fired, 0);
}

}  // namespace
}  // namespace cay::keeper
