#include "gate/decision_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>

#include "base/testing/temp_dir.h"
#include "base/unique_fd.h"
#include "os/file.h"

namespace cay::gate {
namespace {

constexpr UnixMillis kNow = 1'700'000'000'000;

class DecisionLogTest : public ::testing::Test {
 protected:
  void SetUp() override { keeper(true); }
  void keeper(bool there) {
    if (there) {
      EXPECT_TRUE(os::replace_file(dir_.get(), "id.sock", "", 0600));
    } else {
      EXPECT_TRUE(os::remove_tree(dir_.get(), "id.sock"));
    }
  }
  static void decide(DecisionLog& log, const std::string& host = "a.test") {
    wire::DecidedMsg one;
    one.kind = static_cast<std::uint8_t>(wire::DecidedKind::kConnection);
    one.at = kNow;
    one.host = host;
    log.add(one);
  }
  std::string text(const char* name = "id.log") const {
    return *os::read_file(dir_.get(), name, 1 << 20);
  }
  wire::DecidedRead read(const char* name = "id.log") const {
    return wire::read_decided(text(name), 0, 100'000);
  }
  std::vector<std::string> files() const {
    auto out = *os::list_dir(dir_.get());
    std::ranges::sort(out);
    return out;
  }
  void tear(std::size_t less) {
    EXPECT_TRUE(
        os::replace_file(dir_.get(), "id.log", text().substr(0, text().size() - less), 0640));
  }

  const cay::testing::TempDir temp_;
  const UniqueFd dir_ = temp_.open();
};

TEST_F(DecisionLogTest, NumbersGrowOverTheEndOfADoor) {
  DecisionLog first(dir_.get(), "id", kNow);
  EXPECT_FALSE(first.dirty()) << "nothing was decided yet";
  decide(first, "a.test");
  decide(first, "b.test");
  EXPECT_TRUE(first.dirty());
  ASSERT_TRUE(first.write());
  EXPECT_FALSE(first.dirty());
  decide(first, "c.test");
  first.close();
  EXPECT_TRUE(read().closed);
  DecisionLog second(dir_.get(), "id", kNow);
  EXPECT_FALSE(second.dirty()) << "the one before said its last";
  decide(second, "d.test");
  ASSERT_TRUE(second.write());
  const auto got = read();
  ASSERT_EQ(got.items.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(got.items[i].number, i + 1);
  EXPECT_EQ(got.items[3].host, "d.test");
}

TEST_F(DecisionLogTest, AGateThatWasKilledIsTold) {
  {
    DecisionLog killed(dir_.get(), "id", kNow);
    decide(killed);
    ASSERT_TRUE(killed.write());
    decide(killed, "lost.test");  // and never written
  }
  DecisionLog next(dir_.get(), "id", kNow + 1);
  EXPECT_TRUE(next.dirty());
  decide(next, "b.test");
  ASSERT_TRUE(next.write());
  const auto got = read();
  ASSERT_EQ(got.items.size(), 3U);
  EXPECT_EQ(got.items[1].kind, static_cast<std::uint8_t>(wire::DecidedKind::kRestart));
  EXPECT_GT(got.items[1].number, wire::kDecidedStep)
      << "beyond what a power cut may have taken back";
  EXPECT_EQ(got.items[2].number, got.items[1].number + 1);
}

TEST_F(DecisionLogTest, EveryTornTailIsMendedAndNothingIsWrittenBehindIt) {
  std::size_t line = 0;
  {
    DecisionLog log(dir_.get(), "id", kNow);
    decide(log);
    ASSERT_TRUE(log.write());
    const std::size_t one = text().size();
    decide(log, "torn.test");
    ASSERT_TRUE(log.write());
    line = text().size() - one;
  }
  const std::string whole = text();
  for (std::size_t less = 1; less <= line; ++less) {
    ASSERT_TRUE(os::replace_file(dir_.get(), "id.log", whole.substr(0, whole.size() - less), 0640));
    DecisionLog next(dir_.get(), "id", kNow);
    decide(next, "after.test");
    ASSERT_TRUE(next.write());
    const auto got = read();
    ASSERT_EQ(got.items.size(), 3U) << less;
    EXPECT_EQ(got.items[2].host, "after.test");
    EXPECT_EQ(got.good, text().size());
  }
}

TEST_F(DecisionLogTest, WhatIsNoLogIsPutAsideAndNumbersGoOnFromTheClock) {
  ASSERT_TRUE(os::replace_file(dir_.get(), "id.log", "something else", 0640));
  DecisionLog log(dir_.get(), "id", kNow);
  decide(log);
  ASSERT_TRUE(log.write());
  const auto got = read();
  ASSERT_EQ(got.items.size(), 2U);
  EXPECT_GT(got.items[0].number, static_cast<std::uint64_t>(kNow));
  EXPECT_EQ(text("id.log.old"), "something else");
}

TEST_F(DecisionLogTest, NumbersGoOnWhereTheNewFileIsEmptyOrNotThereYet) {
  {
    DecisionLog log(dir_.get(), "id", kNow);
    decide(log);
    ASSERT_TRUE(log.write());
  }
  ASSERT_EQ(::renameat(dir_.get(), "id.log", dir_.get(), "id.log.old"),
            0);  // killed amid the change
  {
    DecisionLog log(dir_.get(), "id", kNow);
    decide(log);
    ASSERT_TRUE(log.write());
    EXPECT_EQ(read().oldest, 2 + wire::kDecidedStep);
  }
  ASSERT_TRUE(os::replace_file(dir_.get(), "id.log", wire::kDecisionLogHead, 0640));
  DecisionLog log(dir_.get(), "id", kNow);
  decide(log);
  ASSERT_TRUE(log.write());
  EXPECT_EQ(read().oldest, 2 + wire::kDecidedStep);
}

TEST_F(DecisionLogTest, TheNewestAreKeptInTwoFilesOfBoundedSize) {
  DecisionLog log(dir_.get(), "id", kNow);
  for (int i = 0; i < 20'000; ++i) {
    decide(log);
    if (i % 100 == 99) ASSERT_TRUE(log.write());
  }
  EXPECT_LE(text().size(), wire::kMostDecisionLog);
  EXPECT_LE(text("id.log.old").size(), wire::kMostDecisionLog);
  EXPECT_EQ(read().last, 20'000U);
  EXPECT_EQ(read("id.log.old").last + 1, read().oldest);
  EXPECT_GT(20'000 - read("id.log.old").oldest, 4096U);
}

TEST_F(DecisionLogTest, AFloodIsAHoleInTheNumbers) {
  DecisionLog log(dir_.get(), "id", kNow);
  for (std::size_t i = 0; i < 3 * DecisionLog::kMostWaiting; ++i) decide(log);
  ASSERT_TRUE(log.write());
  const auto got = read();
  EXPECT_EQ(got.items.size(), DecisionLog::kMostWaiting);
  EXPECT_EQ(got.oldest, 2 * DecisionLog::kMostWaiting + 1);
  EXPECT_EQ(got.last, 3 * DecisionLog::kMostWaiting);
}

TEST_F(DecisionLogTest, OfASandboxThatIsGoneNothingIsMadeAgain) {
  DecisionLog log(dir_.get(), "id", kNow);
  decide(log);
  ASSERT_TRUE(log.write());
  keeper(false);  // a stop: the rest is written first
  decide(log);
  ASSERT_TRUE(log.write());
  EXPECT_EQ(read().last, 2U);
  ASSERT_TRUE(os::remove_tree(dir_.get(), "id.log"));
  for (int i = 0; i < 10'000; ++i) {
    decide(log);
    if (i % 100 == 99) ASSERT_TRUE(log.write());
  }
  log.close();
  DecisionLog late(dir_.get(), "id", kNow);
  decide(late);
  ASSERT_TRUE(late.write());
  late.close();
  EXPECT_TRUE(files().empty());
}

}  // namespace
}  // namespace cay::gate
