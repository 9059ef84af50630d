#include "core/core_fixture.h"

namespace cay::core {
namespace {

class Pieces final : public ByteSource {
 public:
  Pieces(int count, std::size_t size) : left_(count), size_(size) {}
  Task<Bytes> next() override { co_return left_-- > 0 ? Bytes(size_, 'x') : Bytes(); }

 private:
  int left_;
  std::size_t size_;
};

class DiskRoomTest : public CoreTest {
 protected:
  static constexpr std::uint64_t kMiB = 1 << 20;
  DiskRoomTest() {
    config.host.disk_reserve_bytes = 100 * kMiB;
    config.capacity.free_disk_bytes = [this] { return free; };
    EXPECT_TRUE(open());
    EXPECT_TRUE(create("box"));
  }
  Result<FileInfo> write(int mib) {
    return run(core->files().write(alice, "box", "/f", {}, std::make_unique<Pieces>(mib, kMiB)));
  }
  std::uint64_t free = 200 * kMiB;
};

TEST_F(DiskRoomTest, WhatGoesInLeavesTheReserve) {
  EXPECT_TRUE(write(100));
  // The disk does not show yet what was taken.
  auto too_much = write(101);
  ASSERT_FALSE(too_much);
  EXPECT_EQ(too_much.error().code, Code::kUnavailable);
  EXPECT_EQ(too_much.error().reason, "host_disk_full");
  EXPECT_TRUE(write(100));
}

TEST_F(DiskRoomTest, AFullDiskTakesNothing) {
  free = 99 * kMiB;
  auto refused = write(0);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "host_disk_full");
  free = 100 * kMiB;
  EXPECT_TRUE(write(0));
}

TEST_F(DiskRoomTest, OthersFillItMeanwhile) {
  class Thief final : public ByteSource {
   public:
    explicit Thief(std::uint64_t& free) : free_(free) {}
    Task<Bytes> next() override {
      if (++pieces_ == 10) free_ = 0;
      co_return pieces_ <= 64 ? Bytes(1 << 20, 'x') : Bytes();
    }

   private:
    std::uint64_t& free_;
    int pieces_ = 0;
  };
  auto refused = run(core->files().write(alice, "box", "/f", {}, std::make_unique<Thief>(free)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "host_disk_full");
}

}  // namespace
}  // namespace cay::core
