#include "runtime/native/wide_buffers.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <deque>
#include <memory>

#include "base/unique_fd.h"

namespace cay::runtime {
namespace {

constexpr int kLock = 72;  // SO_BUF_LOCK

struct One {
  explicit One(WideBuffers& group)
      : socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)), place(group, socket.get()) {
    ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDBUF, &WideBuffers::kFixed,
                 sizeof WideBuffers::kFixed);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVBUF, &WideBuffers::kFixed,
                 sizeof WideBuffers::kFixed);
  }
  bool may_grow() const {
    int locked = -1;
    socklen_t size = sizeof locked;
    return ::getsockopt(socket.get(), SOL_SOCKET, kLock, &locked, &size) == 0 && locked == 0;
  }
  UniqueFd socket;
  WideBuffers::Place place;
};

TEST(WideBuffersTest, WhatMovesMuchGrowsAndLittleDoesNot) {
  WideBuffers group;
  One one(group);
  one.place.moved(WideBuffers::kWorth - 1);
  EXPECT_FALSE(one.may_grow());
  one.place.moved(1);
  EXPECT_TRUE(one.may_grow());
}

TEST(WideBuffersTest, OnlySoManyAtOnceAndAPlaceThatIsLeftIsFree) {
  WideBuffers group;
  std::deque<std::unique_ptr<One>> all;
  for (std::size_t i = 0; i <= WideBuffers::kMost; ++i) {
    all.push_back(std::make_unique<One>(group));
    all.back()->place.moved(WideBuffers::kWorth);
  }
  EXPECT_TRUE(all.front()->may_grow());
  EXPECT_FALSE(all.back()->may_grow());
  all.front()->place.leave();
  all.back()->place.moved(WideBuffers::kWorth);
  EXPECT_TRUE(all.back()->may_grow());
}

}  // namespace
}  // namespace cay::runtime
