#include "base/wiped_memory.h"

#include <gtest/gtest.h>

#include <vector>

namespace cay {
namespace {

constexpr const char* kLong = "a value that is too long to lie inside of a string itself";

TEST(WipedMemoryTest, AStringIsOverwrittenToItsCapacity) {
  std::string bytes = kLong;
  bytes.resize(3);
  const char* const at = bytes.data();
  const std::size_t room = bytes.capacity();
  wipe(bytes);
  EXPECT_TRUE(bytes.empty());
  bytes.resize(room);
  ASSERT_EQ(bytes.data(), at) << "the same memory";
  EXPECT_EQ(bytes, std::string(room, '\0'));
}

TEST(WipedMemoryTest, WhatWasMovedAwayLeavesNothingBehind) {
  Wiped from(std::string("sk-short"));
  Wiped to(std::move(from));
  EXPECT_EQ(to.view(), "sk-short");
  from.bytes().resize(8);  // NOLINT: the test looks at the moved-from value
  EXPECT_EQ(from.view(), std::string(8, '\0'));
  from = std::move(to);
  EXPECT_EQ(from.view(), "sk-short");
  to.bytes().resize(8);  // NOLINT
  EXPECT_EQ(to.view(), std::string(8, '\0'));
}

TEST(WipedMemoryTest, ContainersOverwriteWhatTheyGiveBack) {
  // The memory is looked at before it goes: the allocator's own step, without the freeing.
  WipingAllocator<char> allocator;
  std::string held = kLong;
  char* const at = allocator.allocate(held.size());
  held.copy(at, held.size());
  wipe(at, held.size());
  EXPECT_EQ(std::string(at, held.size()), std::string(held.size(), '\0'));
  allocator.deallocate(at, held.size());
  std::vector<char, WipingAllocator<char>> grows;
  for (const char c : held) grows.push_back(c);
  EXPECT_EQ(std::string(grows.begin(), grows.end()), held) << "and what they hold stays";
}

}  // namespace
}  // namespace cay
