#include "async/cut.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "async/event.h"
#include "async/scope.h"
#include "async/testing.h"

namespace cay {
namespace {

struct Seen {
  bool done = false;  // the body came to its end
  bool cancelled = false;
};

asio::awaitable<void> at_once(Seen& seen) {
  seen.done = true;
  co_return;
}

asio::awaitable<void> waiting(Event& until, Seen& seen) {
  co_await until.wait();
  seen.done = true;
}

asio::awaitable<void> failing(Event& until) {
  co_await until.wait();
  throw std::runtime_error("failed");
}

asio::awaitable<void> cuttable(Cut& cut, asio::awaitable<void> body, Seen& seen) {
  std::exception_ptr failure;
  try {
    co_await cut.run(std::move(body));
  } catch (...) {
    failure = std::current_exception();
  }
  seen.cancelled = is_cancellation(failure);
  if (failure && !seen.cancelled) std::rethrow_exception(failure);
}

// A body that waits until `until` is set.
struct Waiting {
  Waiting() {
    scope.spawn(cuttable(cut, waiting(until, seen), seen));
    loop.poll();
  }
  void go_on() {
    loop.restart();
    loop.poll();
  }

  asio::io_context loop;
  Event until{loop.get_executor()};
  Cut cut;
  Seen seen;
  Scope scope{loop.get_executor()};
};

TEST(CutTest, ABodyThatDoesNotWaitEndsAtOnce) {
  asio::io_context loop;
  Cut cut;
  Seen seen;
  testing::run(loop, cuttable(cut, at_once(seen), seen));
  EXPECT_TRUE(seen.done);
  cut.now();  // nothing runs
}

TEST(CutTest, ABodyThatNobodyCutsComesToItsEnd) {
  Waiting body;
  EXPECT_FALSE(body.seen.done);
  body.until.set();
  body.go_on();
  EXPECT_TRUE(body.seen.done);
  EXPECT_FALSE(body.seen.cancelled);
  EXPECT_EQ(body.scope.running(), 0u);
}

TEST(CutTest, ACutUnwindsTheBody) {
  Waiting body;
  body.cut.now();
  body.cut.now();
  body.go_on();
  EXPECT_FALSE(body.seen.done);
  EXPECT_TRUE(body.seen.cancelled);
  EXPECT_EQ(body.scope.running(), 0u);
}

TEST(CutTest, ItsCallersEndCancelsTheBody) {
  Waiting body;
  body.scope.cancel();
  body.go_on();
  EXPECT_FALSE(body.seen.done);
  EXPECT_TRUE(body.seen.cancelled);
  EXPECT_EQ(body.scope.running(), 0u);
}

TEST(CutTest, WhatTheBodyThrowsIsThrown) {
  asio::io_context loop;
  Event until(loop.get_executor());
  until.set();
  Cut cut;
  Seen seen;
  EXPECT_THROW(testing::run(loop, cuttable(cut, failing(until), seen)), std::runtime_error);
}

TEST(CutTest, ALoopThatEndsLeavesNothing) {
  auto loop = std::make_unique<asio::io_context>();
  Event until(loop->get_executor());
  Cut cut;
  Seen seen;
  asio::co_spawn(*loop, cuttable(cut, waiting(until, seen), seen), [](std::exception_ptr) {});
  loop->poll();
  loop.reset();
  EXPECT_FALSE(seen.done);
}

}  // namespace
}  // namespace cay
