#include "gate/socket_memory.h"

#include <gtest/gtest.h>

namespace cay::gate {
namespace {

constexpr std::uint64_t kMi = 1 << 20;
constexpr KernelBuffers kUsual{6 * kMi, 4 * kMi, 208 << 10};

// How many of each kind one sandbox gets when it takes all it can.
struct Got {
  std::size_t wide = 0, narrow = 0, tiny = 0;
  std::uint64_t held = 0;
};
Got take_all(const SocketMemory& memory, std::uint64_t others, std::size_t sandboxes) {
  Got got;
  while (const auto fit = memory.fit(got.held, others + got.held, sandboxes)) {
    ++(*fit == Buffers::kWide ? got.wide : *fit == Buffers::kNarrow ? got.narrow : got.tiny);
    got.held += memory.cost(*fit);
  }
  return got;
}

TEST(SocketMemoryTest, OneSandboxStaysWithinItsShareAndStillHasAThousandConnections) {
  const SocketMemory memory(0, std::uint64_t{2} << 30, kUsual);
  EXPECT_EQ(memory.each(), SocketMemory::kEach);
  const Got got = take_all(memory, 0, 1);
  EXPECT_LE(got.held, memory.each());
  EXPECT_GE(got.wide, 12U);
  EXPECT_GE(got.narrow, 48U);
  EXPECT_GE(got.wide + got.narrow + got.tiny, 1024U);
}

TEST(SocketMemoryTest, SmallerOnesComeWhenHalfIsTakenAndTheLastQuarterIsForThoseWithFew) {
  const SocketMemory memory(0, 512 * kMi, kUsual);
  EXPECT_EQ(memory.fit(0, 0, 1), Buffers::kWide);
  EXPECT_EQ(memory.fit(0, 250 * kMi, 2), Buffers::kNarrow) << "others took half";
  EXPECT_EQ(memory.fit(0, 320 * kMi, 2), Buffers::kTiny);
  EXPECT_EQ(memory.fit(100 * kMi, 384 * kMi, 2), std::nullopt)
      << "it has its share of the last quarter";
  EXPECT_EQ(memory.fit(10 * kMi, 384 * kMi, 2), Buffers::kTiny);
  EXPECT_EQ(memory.fit(0, 512 * kMi, 2), std::nullopt);
}

TEST(SocketMemoryTest, AHostThatLetsBuffersGrowFarIsAskedForLessOrGivesFewerWideOnes) {
  const SocketMemory asked(0, std::uint64_t{2} << 30, {32 * kMi, 4 * kMi, 4 * kMi});
  EXPECT_GT(asked.outside(Buffers::kWide).receive, 0);
  EXPECT_GE(take_all(asked, 0, 1).wide, 12U);
  const SocketMemory cannot(0, std::uint64_t{2} << 30, {32 * kMi, 4 * kMi, 208 << 10});
  EXPECT_EQ(cannot.outside(Buffers::kWide).receive, 0);
  EXPECT_GE(cannot.cost(Buffers::kWide), 36 * kMi);
  const Got few = take_all(cannot, 0, 1);
  EXPECT_LE(few.wide, 5U);
  EXPECT_LE(few.held, cannot.each());
}

TEST(SocketMemoryTest, OneProcessTellsAnotherWhatAConnectionHas) {
  for (const Buffers one : {Buffers::kWide, Buffers::kNarrow, Buffers::kTiny}) {
    EXPECT_NE(told(one), 0);
    EXPECT_EQ(buffers_told(told(one)), one);
  }
  EXPECT_EQ(buffers_told(0), Buffers::kNarrow) << "an older release does not say";
  EXPECT_EQ(buffers_told(200), Buffers::kNarrow);
}

}  // namespace
}  // namespace cay::gate
