// Small stories of the coroutine helpers. None waits for real time to pass, but where time is the
// point.
#include <gtest/gtest.h>

#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/post.hpp>
#include <string>
#include <thread>
#include <vector>

#include "async/channel.h"
#include "async/deadline.h"
#include "async/event.h"
#include "async/mutex.h"
#include "async/pool.h"
#include "async/scope.h"
#include "async/spawn.h"
#include "async/testing.h"

namespace cay {
namespace {

using namespace std::chrono_literals;
using testing::run;
using Log = std::vector<std::string>;

constexpr Millis kLong = 1h;

asio::awaitable<void> yield_to_loop() {
  auto executor = co_await asio::this_coro::executor;
  co_await asio::post(executor, asio::use_awaitable);
}

asio::awaitable<void> wait_and_log(Event& event, Log& log, std::string name) {
  try {
    co_await event.wait();
    log.push_back(name);
  } catch (...) {
    log.push_back(name + " cancelled");
    throw;
  }
}

TEST(EventTest, SetWakesAllAndStaysSet) {
  asio::io_context loop;
  Event event(loop.get_executor());
  Log log;
  auto story = [&]() -> asio::awaitable<void> {
    Scope scope(loop.get_executor());
    scope.spawn(wait_and_log(event, log, "a"));
    scope.spawn(wait_and_log(event, log, "b"));
    co_await yield_to_loop();
    EXPECT_TRUE(log.empty());
    event.set();
    event.reset();  // before the waiters run: they were woken all the same
    co_await scope.join();
    event.set();
    co_await event.wait();
  };
  run(loop, story());
  EXPECT_EQ(log, (Log{"a", "b"}));
}

TEST(EventTest, NotifySetsNothing) {
  asio::io_context loop;
  Event event(loop.get_executor());
  auto story = [&]() -> asio::awaitable<void> {
    event.notify();
    auto woken = co_await event.wait_for(1ms);
    EXPECT_FALSE(woken);
  };
  run(loop, story());
}

TEST(EventTest, WhoWatchesIsCalledOnceAndNotAfterGoing) {
  asio::io_context loop;
  int kept = 0;
  int gone = 0;
  int late = 0;
  int left = 0;
  Event event(loop.get_executor());
  const Event::Watch stays = event.when_set([&] { ++kept; });
  Event::Watch goes = event.when_set([&] { ++gone; });
  event.notify();
  loop.poll();
  EXPECT_EQ(kept, 0) << "a notification sets nothing";
  event.set();
  goes.reset();  // though it was to be called
  event.set();
  loop.restart();
  loop.poll();
  EXPECT_EQ(kept, 1);
  EXPECT_EQ(gone, 0);
  const Event::Watch after = event.when_set([&] { ++late; });
  loop.restart();
  loop.poll();
  EXPECT_EQ(late, 1);
  Event::Watch outlives;
  {
    Event ends(loop.get_executor());
    outlives = ends.when_set([&] { ++left; });
  }
  loop.restart();
  loop.poll();
  EXPECT_EQ(left, 1) << "an event's end is as if it were set";
}

TEST(EventTest, WaitersOutliveTheEvent) {
  asio::io_context loop;
  auto event = std::make_unique<Event>(loop.get_executor());
  Log log;
  auto story = [&]() -> asio::awaitable<void> {
    Scope scope(loop.get_executor());
    scope.spawn(wait_and_log(*event, log, "a"));
    co_await yield_to_loop();
    event.reset();
    co_await scope.join();
  };
  run(loop, story());
  EXPECT_EQ(log, Log{"a"});
}

TEST(ScopeTest, UntilCancelsAndJoinsTheChildren) {
  asio::io_context loop;
  Event never(loop.get_executor());
  Log log;
  auto body = [&]() -> asio::awaitable<int> {
    co_await yield_to_loop();
    log.push_back("body");
    co_return 7;
  };
  auto story = [&]() -> asio::awaitable<int> {
    Scope scope(loop.get_executor());
    scope.spawn(wait_and_log(never, log, "child"));
    auto got = co_await scope.until(body());
    EXPECT_EQ(scope.running(), 0u);
    co_return got;
  };
  EXPECT_EQ(run(loop, story()), 7);
  EXPECT_EQ(log, (Log{"body", "child cancelled"}));
}

TEST(ScopeTest, AChildsExceptionComesOutOfJoin) {
  asio::io_context loop;
  auto bad = []() -> asio::awaitable<void> {
    co_await yield_to_loop();
    throw std::runtime_error("broken");
  };
  auto story = [&]() -> asio::awaitable<void> {
    Scope scope(loop.get_executor());
    scope.spawn(bad());
    co_await scope.join();
  };
  EXPECT_THROW(run(loop, story()), std::runtime_error);
}

asio::awaitable<void> clean_up_slowly(Event& never, Event& release, Log& log) {
  std::exception_ptr failure;
  try {
    co_await never.wait();
  } catch (...) {
    failure = std::current_exception();
  }
  co_await asio::this_coro::throw_if_cancelled(false);
  co_await release.wait_through_cancel();
  log.push_back("cleaned");
  std::rethrow_exception(failure);
}

TEST(ScopeTest, ACancelledParentStillJoinsChildrenThatCleanUp) {
  asio::io_context loop;
  Event never(loop.get_executor());
  Event release(loop.get_executor());
  Log log;
  auto parent = [&]() -> asio::awaitable<void> {
    Scope scope(loop.get_executor());
    scope.spawn(clean_up_slowly(never, release, log));
    try {
      co_await scope.until(never.wait());
    } catch (...) {
      log.push_back("parent");
      throw;
    }
  };
  auto story = [&]() -> asio::awaitable<void> {
    Scope outer(loop.get_executor());
    outer.spawn(parent());
    co_await yield_to_loop();
    co_await yield_to_loop();
    outer.cancel();
    for (int i = 0; i < 10; ++i) {
      co_await yield_to_loop();
    }
    EXPECT_TRUE(log.empty());
    release.set();
    co_await outer.join();
  };
  run(loop, story());
  EXPECT_EQ(log, (Log{"cleaned", "parent"}));
}

Task<int> forty_two_after(Event& event) {
  co_await event.wait();
  co_return 42;
}

TEST(DeadlineTest, TheLoserIsUnwound) {
  asio::io_context loop;
  Event never(loop.get_executor());
  auto got = run(loop, with_deadline(forty_two_after(never), 1ms, "waiting for Godot"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kDeadlineExceeded);
  EXPECT_NE(got.error().message.find("Godot"), std::string::npos);
}

TEST(DeadlineTest, WorkInTimeGivesItsValueAndItsErrors) {
  asio::io_context loop;
  Event event(loop.get_executor());
  event.set();
  auto got = run(loop, with_deadline(forty_two_after(event), kLong));
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, 42);
  auto bad = []() -> Task<int> {
    throw std::runtime_error("broken");
    co_return 1;
  };
  EXPECT_THROW(static_cast<void>(run(loop, with_deadline(bad(), kLong))), std::runtime_error);
}

TEST(DeadlineTest, CancellingTheCallerCancelsTheWork) {
  asio::io_context loop;
  Event never(loop.get_executor());
  Log log;
  auto work = [&]() -> Task<void> {
    co_await wait_and_log(never, log, "work");
    co_return Result<void>();
  };
  auto caller = [&]() -> asio::awaitable<void> {
    auto got = co_await with_deadline(work(), kLong);
    log.push_back(got ? "value" : "error");
  };
  auto story = [&]() -> asio::awaitable<void> {
    Scope scope(loop.get_executor());
    scope.spawn(caller());
    for (int i = 0; i < 3; ++i) {
      co_await yield_to_loop();
    }
    scope.cancel();
    co_await scope.join();
  };
  run(loop, story());
  EXPECT_EQ(log, Log{"work cancelled"});
}

TEST(ChannelTest, HoldsBackTheWriterAndDrainsAfterClose) {
  asio::io_context loop;
  Channel<int> channel(loop.get_executor(), 2);
  std::size_t most = 0;
  auto writer = [&]() -> asio::awaitable<void> {
    for (int i = 0; i < 100; ++i) {
      auto ok = co_await channel.push(i);
      EXPECT_TRUE(ok);
      most = std::max(most, channel.size());
    }
    channel.close();
    auto late = co_await channel.push(100);
    EXPECT_FALSE(late);
  };
  auto story = [&]() -> asio::awaitable<int> {
    Scope scope(loop.get_executor());
    scope.spawn(writer());
    int sum = 0;
    for (;;) {
      auto item = co_await channel.pop();
      if (!item) break;
      sum += *item;
    }
    co_await scope.join();
    co_return sum;
  };
  EXPECT_EQ(run(loop, story()), 4950);
  EXPECT_EQ(most, 2u);
}

TEST(MutexTest, FirstComeFirstServedAndCancelledWaitersLeaveTheQueue) {
  asio::io_context loop;
  Mutex mutex(loop.get_executor());
  Log log;
  auto user = [&](std::string name) -> asio::awaitable<void> {
    auto guard = co_await mutex.lock();
    log.push_back(name);
    co_await yield_to_loop();
  };
  auto story = [&]() -> asio::awaitable<void> {
    auto guard = co_await mutex.lock();
    Scope keep(loop.get_executor());
    Scope drop(loop.get_executor());
    keep.spawn(user("a"));
    drop.spawn(user("dropped"));
    keep.spawn(user("b"));
    co_await yield_to_loop();
    drop.cancel();
    co_await drop.join();
    guard.unlock();
    co_await keep.join();
    EXPECT_FALSE(mutex.locked());
  };
  run(loop, story());
  EXPECT_EQ(log, (Log{"a", "b"}));
}

TEST(MutexTest, ALockHandedToACancelledWaiterGoesOn) {
  asio::io_context loop;
  Mutex mutex(loop.get_executor());
  Log log;
  auto user = [&](std::string name) -> asio::awaitable<void> {
    auto guard = co_await mutex.lock();
    log.push_back(name);
  };
  auto story = [&]() -> asio::awaitable<void> {
    auto guard = co_await mutex.lock();
    Scope first(loop.get_executor());
    Scope second(loop.get_executor());
    first.spawn(user("first"));
    second.spawn(user("second"));
    co_await yield_to_loop();
    guard.unlock();  // to first, which has not run yet
    first.cancel();
    co_await first.join();
    co_await second.join();
  };
  run(loop, story());
  EXPECT_EQ(log, Log{"second"});
  EXPECT_FALSE(mutex.locked());
}

TEST(PoolTest, RunsElsewhereAndComesBack) {
  asio::io_context loop;
  Pool pool(2);
  const auto home = std::this_thread::get_id();
  auto story = [&]() -> asio::awaitable<std::string> {
    auto where = [] { return std::this_thread::get_id(); };
    auto there = co_await run_on_pool(pool, where);
    EXPECT_NE(there, home);
    EXPECT_EQ(std::this_thread::get_id(), home);
    auto text = std::make_unique<std::string>("moved");
    auto take = [text = std::move(text)]() mutable { return *text + " there"; };
    auto got = co_await run_on_pool(pool, std::move(take));
    auto fail = [] { throw std::runtime_error("disk"); };
    try {
      co_await run_on_pool(pool, fail);
      ADD_FAILURE();
    } catch (const std::runtime_error& e) {
      got += e.what();
    }
    co_return got;
  };
  EXPECT_EQ(run(loop, story()), "moved theredisk");
}

TEST(SpawnTest, AnExceptionEndsTheCoroutineAlone) {
  asio::io_context loop;
  auto bad = []() -> asio::awaitable<void> {
    throw std::runtime_error("logged");
    co_return;
  };
  spawn(loop.get_executor(), "a test's coroutine", bad());
  loop.run();
}

}  // namespace
}  // namespace cay
