#include "store/wal_sync.h"

#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>

namespace cay::store {
namespace {

constexpr auto kPatience = std::chrono::seconds(60);

TEST(WalSyncTest, EachNoteIsFollowedByASyncThatBeganLater) {
  std::counting_semaphore<> synced{0};
  WalSync sync([&] { synced.release(); }, Millis{1});
  for (int i = 0; i < 20; ++i) {
    sync.note();
    ASSERT_TRUE(synced.try_acquire_for(kPatience));
  }
}

TEST(WalSyncTest, NotesDuringASyncAreOneMore) {
  std::counting_semaphore<> begun{0}, go_on{0};
  WalSync sync(
      [&] {
        begun.release();
        go_on.acquire();
      },
      Millis{1});
  sync.note();
  ASSERT_TRUE(begun.try_acquire_for(kPatience));
  for (int i = 0; i < 1000; ++i) sync.note();
  go_on.release();
  ASSERT_TRUE(begun.try_acquire_for(kPatience));
  go_on.release();
  EXPECT_FALSE(begun.try_acquire_for(Millis{50}));
}

TEST(WalSyncTest, ItsEndDoesNotWaitForTheNextTurn) {
  std::counting_semaphore<> synced{0};
  const auto begun = std::chrono::steady_clock::now();
  {
    WalSync sync([&] { synced.release(); }, Millis{600'000});
    sync.note();
    ASSERT_TRUE(synced.try_acquire_for(kPatience));
    sync.note();
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, kPatience);
}

}  // namespace
}  // namespace cay::store
