#include "keeper/oom_victims.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace cay::keeper {
namespace {

constexpr std::uint64_t kGroup = 77;
constexpr pid_t kLeader = 500;

class OomVictimsTest : public ::testing::Test {
 protected:
  OomVictimsTest() : fd(::memfd_create("victims", MFD_CLOEXEC)) {
    EXPECT_EQ(::ftruncate(fd.get(), sizeof(cay_oom_victims)), 0);
    all = static_cast<cay_oom_victims*>(
        ::mmap(nullptr, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
  }
  ~OomVictimsTest() override { ::munmap(all, sizeof *all); }
  // As the kernel part does.
  void kill(std::uint64_t kills, std::uint32_t pid, std::uint64_t group = kGroup,
            std::uint32_t shares = 0) {
    const std::uint64_t index = all->count++;
    all->last[index % CAY_OOM_VICTIMS] = {index + 1, group, kills, pid, shares};
  }
  Fate fate(std::uint64_t before, std::uint64_t now, std::uint64_t since = 0) const {
    return OomVictims(fd.get()).fate_of({kLeader, kGroup, since, before, now});
  }

  UniqueFd fd;
  cay_oom_victims* all = nullptr;
};

TEST_F(OomVictimsTest, TheOneThatIsNamedWasKilled) {
  kill(1, kLeader);
  EXPECT_EQ(fate(0, 1), Fate::kVictim);
  EXPECT_EQ(fate(0, 1, 1), Fate::kUnknown) << "an earlier process of that number was";
}

TEST_F(OomVictimsTest, OthersAreNotTheLeader) {
  kill(9, 501);
  kill(4, kLeader, kGroup + 1);
  kill(10, 502);
  EXPECT_EQ(fate(8, 10), Fate::kSpared);
}

TEST_F(OomVictimsTest, NamesThatAreNotAllOfThemProveNothing) {
  EXPECT_EQ(fate(0, 1), Fate::kUnknown) << "none is named";
  kill(1, 501);
  EXPECT_EQ(fate(0, 2), Fate::kUnknown) << "the second is missing";
  kill(3, 502);
  EXPECT_EQ(fate(0, 3), Fate::kUnknown) << "the second of three is missing";
  kill(4, kLeader);
  EXPECT_EQ(fate(0, 4), Fate::kVictim) << "it is named all the same";
}

TEST_F(OomVictimsTest, AMarkWithoutAKillIsOfOneThatDiesAlready) {
  kill(1, 501);
  kill(1, kLeader);
  EXPECT_EQ(fate(0, 1), Fate::kSpared);
}

TEST_F(OomVictimsTest, WhoSharesMemoryWithAVictimMayBeKilledUnnamed) {
  kill(1, 501, kGroup, 1);
  EXPECT_EQ(fate(0, 1), Fate::kUnknown);
}

TEST_F(OomVictimsTest, WhatMadeRoomForNewerOnesIsMissed) {
  kill(1, 501);
  EXPECT_EQ(fate(0, 1), Fate::kSpared);
  for (std::uint64_t i = 0; i < CAY_OOM_VICTIMS; ++i) kill(i, 900, kGroup + 1);
  EXPECT_EQ(fate(0, 1), Fate::kUnknown);
  kill(2, kLeader);
  EXPECT_EQ(fate(0, 2), Fate::kVictim);
}

TEST_F(OomVictimsTest, WithoutAMapNobodyKnows) {
  const OomVictims none(-1);
  EXPECT_EQ(none.count(), 0U);
  EXPECT_EQ(none.fate_of({kLeader, kGroup, 0, 0, 1}), Fate::kUnknown);
  kill(1, kLeader);
  EXPECT_EQ(OomVictims(fd.get()).fate_of({kLeader, 0, 0, 0, 1}), Fate::kUnknown) << "of no group";
}

}  // namespace
}  // namespace cay::keeper
