#include "client/read_ahead.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>

namespace cay::client {
namespace {

struct Seen {
  std::atomic<std::size_t> given = 0;  // bytes
  std::atomic<bool> gone = false;
};

class Numbered final : public ByteSource {
 public:
  Numbered(std::size_t pieces, std::size_t size, std::optional<Error> at_end, Seen& seen)
      : pieces_(pieces), size_(size), at_end_(std::move(at_end)), seen_(seen) {}
  ~Numbered() override { seen_.gone = true; }
  Task<Bytes> next() override {
    if (number_ == pieces_) co_return at_end_ ? Result<Bytes>(*at_end_) : Result<Bytes>(Bytes());
    seen_.given += size_;
    co_return Bytes(size_, static_cast<char>('a' + number_++ % 26));
  }

 private:
  std::size_t number_ = 0;
  const std::size_t pieces_, size_;
  const std::optional<Error> at_end_;
  Seen& seen_;
};

struct ReadAheadTest : ::testing::Test {
  std::unique_ptr<ReadAhead> read(std::size_t pieces, std::size_t size,
                                  std::optional<Error> at_end = {}) {
    auto source = std::make_unique<Numbered>(pieces, size, std::move(at_end), seen);
    return std::make_unique<ReadAhead>(loop, std::move(source));
  }
  // Takes so many pieces, which must be whole and in order.
  static void take(ReadAhead& from, std::size_t pieces, std::size_t size) {
    for (std::size_t i = 0; i < pieces; ++i) {
      ASSERT_EQ(*from.next(), std::string(size, static_cast<char>('a' + i % 26))) << i;
    }
  }
  Seen seen;
  Loop loop;
};

TEST_F(ReadAheadTest, EveryPieceComesInOrderAndThenTheEnd) {
  auto from = read(1000, 65536);
  take(*from, 1000, 65536);
  EXPECT_EQ(*from->next(), "");
}

TEST_F(ReadAheadTest, AnErrorComesAfterThePiecesBeforeIt) {
  auto from = read(3, 10, Error{Code::kUnavailable, "connection_lost", "broke", 0});
  take(*from, 3, 10);
  EXPECT_EQ(from->next().error().reason, "connection_lost");
}

TEST_F(ReadAheadTest, WhatIsReadAheadIsBounded) {
  constexpr std::size_t kSize = 65536;
  auto from = read(1000, kSize);
  std::size_t taken = 0;
  for (int i = 0; i < 1000; ++i) {
    taken += from->next()->size();
    ASSERT_LE(seen.given, taken + ReadAhead::kMostAhead + kSize);
  }
}

TEST_F(ReadAheadTest, OneThatIsDroppedLetsItsSourceGo) {
  auto from = read(1000, 65536);
  take(*from, 1, 65536);
  from.reset();
  EXPECT_TRUE(seen.gone);
  EXPECT_LT(seen.given, 1000u * 65536u);
}

}  // namespace
}  // namespace cay::client
