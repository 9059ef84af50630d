#include "async/until_set.h"

#include <gtest/gtest.h>

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
