#include "base/bounded_call.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>

#include "base/unique_fd.h"

namespace cay {
namespace {

using Clock = std::chrono::steady_clock;

UniqueFd listener() {
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::listen(fd.get(), 1), 0);
  return fd;
}

TEST(BoundedCallTest, WhatWaitsIsBrokenOff) {
  const UniqueFd at = listener();
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd out(ends[0]), in(ends[1]);
  for (int i = 0; i < 3; ++i) {
    const auto begun = Clock::now();
    EXPECT_EQ(bounded([&] { return ::accept4(at.get(), nullptr, nullptr, SOCK_NONBLOCK); }), -1);
    EXPECT_EQ(errno, ETIMEDOUT);
    char byte = 0;
    EXPECT_EQ(bounded([&] { return ::read(out.get(), &byte, 1); }), -1);
    EXPECT_EQ(errno, ETIMEDOUT);
    EXPECT_LT(Clock::now() - begun, 20 * kCallLimit);
  }
}

TEST(BoundedCallTest, WhatDoesNotWaitIsAsItWas) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const UniqueFd out(ends[0]), in(ends[1]);
  char byte = 0;
  EXPECT_EQ(bounded([&] { return ::read(out.get(), &byte, 1); }), -1);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_EQ(bounded([&] { return ::write(in.get(), "x", 1); }), 1);
  EXPECT_EQ(bounded([&] { return ::read(out.get(), &byte, 1); }), 1);
  EXPECT_EQ(byte, 'x');
}

// splice(2) ends with EINTR if a signal is pending as it begins.
TEST(BoundedCallTest, WhatATickMetAtItsBeginIsMadeAgain) {
  int calls = 0;
  const int got = bounded([&] {
    if (++calls > 1) return 5;
    const timespec longer{.tv_sec = 1, .tv_nsec = 0};
    return ::nanosleep(&longer, nullptr);  // until the first tick
  });
  EXPECT_EQ(got, 5);
  EXPECT_EQ(calls, 2);
}

TEST(BoundedCallTest, NothingIsInterruptedForLongAfterwards) {
  static_cast<void>(bounded([] { return 0; }));
  for (int i = 0; i < 6; ++i) {  // a few ticks, which break this off
    const timespec tick{.tv_sec = 0, .tv_nsec = 100'000'000};
    ::nanosleep(&tick, nullptr);
  }
  const timespec longer{.tv_sec = 0, .tv_nsec = 150'000'000};
  EXPECT_EQ(::nanosleep(&longer, nullptr), 0);
}

TEST(BoundedCallTest, EachThreadHasItsOwn) {
  const UniqueFd at = listener();
  const auto waits = [&] {
    EXPECT_EQ(bounded([&] { return ::accept4(at.get(), nullptr, nullptr, 0); }), -1);
    EXPECT_EQ(errno, ETIMEDOUT);
  };
  std::thread one(waits), two(waits);
  one.join();
  two.join();
}

}  // namespace
}  // namespace cay
