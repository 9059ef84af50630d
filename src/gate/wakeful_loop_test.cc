#include "gate/wakeful_loop.h"

#include <gtest/gtest.h>

#include <boost/asio/post.hpp>

namespace cay::gate {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class WakefulLoopTest : public ::testing::Test {
 protected:
  // How long it looks in vain from here on, a microsecond each time.
  microseconds awake(WakefulLoop& one) {
    const auto begun = now;
    while (one.stays_awake(begun, now)) now += microseconds{1};
    one.ends();
    return std::chrono::duration_cast<microseconds>(now - begun);
  }
  WakefulLoop::Clock::time_point now = WakefulLoop::Clock::now();
};

TEST_F(WakefulLoopTest, IsSoForAMomentAfterAConnectionCame) {
  WakefulLoop one(false);
  EXPECT_EQ(awake(one), microseconds{0}) << "none came";
  one.came(now);
  EXPECT_EQ(awake(one), WakefulLoop::kAwake);
  EXPECT_EQ(awake(one), WakefulLoop::kAwake) << "something happened to it";
  now += WakefulLoop::kAfterOne;
  EXPECT_EQ(awake(one), microseconds{0});
}

TEST_F(WakefulLoopTest, NotOnTheOnlyProcessor) {
  WakefulLoop one(true);
  one.came(now);
  EXPECT_EQ(awake(one), microseconds{0});
}

TEST_F(WakefulLoopTest, TakesNoMoreOfAProcessorThanItsShare) {
  WakefulLoop one(false);
  const auto spent_in = [&](milliseconds time) {
    microseconds spent{0};
    for (const auto end = now + time; now < end;
         now += microseconds{1}) {  // one connection after another
      one.came(now);
      spent += awake(one);
    }
    return spent;
  };
  EXPECT_GT(spent_in(milliseconds{100}), milliseconds{90}) << "of what was saved";
  spent_in(milliseconds{200});
  const microseconds then = spent_in(milliseconds{1000});
  EXPECT_LE(then, milliseconds{1000} / WakefulLoop::kShare + WakefulLoop::kAwake);
  EXPECT_GT(then, milliseconds{200});
  now += WakefulLoop::kSaved * WakefulLoop::kShare;
  EXPECT_GT(spent_in(milliseconds{100}), milliseconds{90}) << "saved again";
}

TEST_F(WakefulLoopTest, WhatComesWhileItIsAwakeRunsAndItEndsWithTheLoop) {
  boost::asio::io_context loop;
  WakefulLoop one(false);
  int ran = 0;
  boost::asio::post(loop, [&] {
    one.came();
    boost::asio::post(loop, [&] { ++ran; });
    ++ran;
  });
  one.run(loop);
  EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace cay::gate
