#include "core/event.h"

#include <gtest/gtest.h>

#include "core/testing/run.h"

namespace cay::core {
namespace {

using testing::drain;
using testing::finish;
using testing::run;
using testing::start;

Task<bool> wait_for(Event& event, Event::Deadline deadline) {
  auto woken = co_await event.wait(deadline);
  co_return woken;
}

// Notes its turn, and keeps it until told to go on.
Task<void> take_turn(Mutex& mutex, Event& go, std::vector<int>& order, int number) {
  auto lock = co_await mutex.lock();
  order.push_back(number);
  co_await go.wait();
  co_return Result<void>();
}

TEST(EventTest, WakesThoseWhoWaitAndThoseWhoCome) {
  asio::io_context loop;
  Event event(loop.get_executor());
  auto waiting = start(loop, wait_for(event, Event::kNever));
  auto also = start(loop, wait_for(event, Event::kNever));
  EXPECT_FALSE(waiting->done());
  event.set();
  EXPECT_TRUE(*finish(loop, *waiting));
  EXPECT_TRUE(*finish(loop, *also));
  EXPECT_TRUE(*run(loop, wait_for(event, Event::kNever)));
}

TEST(EventTest, PulseWakesOnlyThoseWhoWait) {
  asio::io_context loop;
  Event event(loop.get_executor());
  auto waiting = start(loop, wait_for(event, Event::kNever));
  event.pulse();
  EXPECT_TRUE(*finish(loop, *waiting));
  EXPECT_FALSE(*run(loop, wait_for(event, deadline_in(std::chrono::milliseconds(1)))));
}

TEST(EventTest, CancelledWaitersThrowAndLeave) {
  asio::io_context loop;
  Event event(loop.get_executor());
  auto waiting = start(loop, wait_for(event, Event::kNever));
  waiting->cancel();
  drain(loop);
  EXPECT_TRUE(waiting->thrown != nullptr);
  event.set();  // nobody is left to be woken
  drain(loop);
}

TEST(MutexTest, FirstComeFirstServed) {
  asio::io_context loop;
  Mutex mutex(loop.get_executor());
  Event go(loop.get_executor());
  std::vector<int> order;
  auto one = start(loop, take_turn(mutex, go, order, 1));
  auto two = start(loop, take_turn(mutex, go, order, 2));
  auto three = start(loop, take_turn(mutex, go, order, 3));
  EXPECT_EQ(order, (std::vector<int>{1}));
  go.set();
  EXPECT_TRUE(finish(loop, *three));
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_FALSE(mutex.locked());
}

TEST(MutexTest, AWaiterThatGoesAwayLosesItsPlaceOnly) {
  asio::io_context loop;
  Mutex mutex(loop.get_executor());
  Event go(loop.get_executor());
  std::vector<int> order;
  auto one = start(loop, take_turn(mutex, go, order, 1));
  auto two = start(loop, take_turn(mutex, go, order, 2));
  auto three = start(loop, take_turn(mutex, go, order, 3));
  two->cancel();
  drain(loop);
  EXPECT_TRUE(two->thrown != nullptr);
  go.set();
  EXPECT_TRUE(finish(loop, *three));
  EXPECT_EQ(order, (std::vector<int>{1, 3}));
  EXPECT_FALSE(mutex.locked());
}

TEST(MutexTest, ATurnGivenToOneThatIsBeingCancelledIsPassedOn) {
  asio::io_context loop;
  Mutex mutex(loop.get_executor());
  Event go(loop.get_executor());
  std::vector<int> order;
  auto one = start(loop, take_turn(mutex, go, order, 1));
  auto two = start(loop, take_turn(mutex, go, order, 2));
  auto three = start(loop, take_turn(mutex, go, order, 3));
  go.set();        // the turn goes to the second ...
  two->cancel();   // ... which is cancelled before it runs
  drain(loop);
  EXPECT_TRUE(three->done());
  EXPECT_FALSE(mutex.locked());
}

}  // namespace
}  // namespace cay::core
