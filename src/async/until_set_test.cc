#include "async/until_set.h"

#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>
#include <cerrno>

#include "async/scope.h"
#include "async/testing.h"

namespace cay {
namespace {

// Gives the bytes `says` and then nothing, for ever, unless it ends. Writing to it fails.
class Broken : public ByteStream {
 public:
  Broken(asio::any_io_executor executor, int err) : for_ever_(executor), err_(err) {}
  Task<Bytes> read() override {
    if (!says.empty()) co_return std::exchange(says, {});
    if (ends) co_return Bytes();
    co_await for_ever_.wait();
    co_return Bytes();
  }
  Task<void> write(Bytes) override {
    co_return Error{Code::kCancelled, "connection_reset", "broke", err_};
  }
  Task<void> shut_write() override { co_return Result<void>(); }

  Bytes says;
  bool ends = false;

 private:
  Event for_ever_;
  int err_;
};

// Keeps what it is given.
class Taker : public ByteStream {
 public:
  Task<Bytes> read() override { co_return std::exchange(says, {}); }
  Task<void> write(Bytes bytes) override {
    taken += bytes;
    co_return Result<void>();
  }
  Task<void> shut_write() override { co_return Result<void>(); }

  Bytes says = "asked", taken;
};

Result<void> spliced(Broken& broken, Taker& taker, asio::io_context& loop) {
  auto body = splice(broken, taker);
  auto limited = with_deadline<void>(std::move(body), Millis{2'000}, "splice");
  return testing::run(loop, std::move(limited));
}

Task<int> seven_when(Event& set, std::string& told) {
  try {
    co_await set.wait();
  } catch (const boost::system::system_error&) {
    told = "cancelled";
    throw;
  }
  co_return 7;
}

TEST(WithDeadlineUntilSetTest, TheFirstOfThreeCounts) {
  const Error why{Code::kUnavailable, "cut", "it was cut", 0};
  for (const std::string first : {"work", "cut", "cut before", "limit"}) {
    asio::io_context loop;
    Event set(loop.get_executor()), cut(loop.get_executor());
    std::string told;
    if (first == "cut before") cut.set();
    asio::steady_timer soon(loop, Millis{5});  // when both wait
    soon.async_wait([&](boost::system::error_code) {
      if (first == "cut") cut.set();
      if (first == "work") set.set();
    });
    auto work = seven_when(set, told);
    const Millis limit{first == "limit" ? 10 : 5'000};
    auto both = with_deadline_until_set<int>(std::move(work), limit, cut, why);
    const auto got = testing::run(loop, std::move(both));
    if (first == "work") {
      ASSERT_TRUE(got);
      EXPECT_EQ(*got, 7);
    } else {
      ASSERT_FALSE(got) << first;
      EXPECT_EQ(got.error().reason, first == "limit" ? "deadline_exceeded" : "cut");
    }
    const bool was_cancelled = first == "limit" || first == "cut";
    EXPECT_EQ(told, was_cancelled ? "cancelled" : "") << first;
  }
}

TEST(SpliceTest, WhatWasGivenUpOnEndsBothWays) {
  asio::io_context loop;
  Broken broken(loop.get_executor(), ETIMEDOUT);
  Taker taker;
  const auto result = spliced(broken, taker, loop);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, "connection_reset");
}

TEST(SpliceTest, WhatTakesNoMoreIsReadToItsEnd) {
  asio::io_context loop;
  Broken broken(loop.get_executor(), EPIPE);
  broken.says = "the last words";
  broken.ends = true;
  Taker taker;
  const auto result = spliced(broken, taker, loop);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().reason, "connection_reset");
  EXPECT_EQ(taker.taken, "the last words");
}

}  // namespace
}  // namespace cay
