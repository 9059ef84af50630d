#include "runtime/native/decision_log_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_dir.h"
#include "wire/decision_log.h"

namespace cay::runtime {
namespace {

const SandboxId kBox("0b4c1c2e-5f7a-4d53-9d0e-6a1f2b3c4d5e");

class DecisionLogReaderTest : public ::testing::Test {
 protected:
  std::string path(const char* kind = wire::kDecisionLog) const {
    return temp_.path() + "/" + kBox.get() + kind;
  }
  static std::string frame(std::uint64_t number,
                           wire::DecidedKind kind = wire::DecidedKind::kConnection) {
    wire::DecidedMsg one;
    one.number = number;
    one.kind = static_cast<std::uint8_t>(kind);
    one.at = 7;
    one.result = static_cast<std::uint8_t>(wire::DecidedResult::kRefused);
    one.host = "h" + std::to_string(number) + ".test";
    one.port = 443;
    return wire::decided_frame(one);
  }
  static std::string file(std::uint64_t first, std::uint64_t last) {
    std::string out(wire::kDecisionLogHead);
    for (std::uint64_t number = first; number <= last; ++number) out += frame(number);
    return out;
  }
  void write(const std::string& bytes, const char* kind = wire::kDecisionLog) const {
    std::ofstream(path(kind), std::ios::binary) << bytes;
  }
  Result<DecidedPage> read(const DecidedQuery& query) const {
    return read_decision_log(temp_.path(), kBox, query);
  }
  DecidedPage after(std::uint64_t number, std::uint32_t limit = 1000) const {
    auto page = read({.after = number, .limit = limit});
    EXPECT_TRUE(page) << page.error().message;
    return page ? *std::move(page) : DecidedPage{};
  }

  const cay::testing::TempDir temp_;
};

TEST_F(DecisionLogReaderTest, PagesOverBothFilesCoverEveryDecisionOnce) {
  write(file(1, 10), wire::kOldDecisionLog);
  write(file(11, 15));
  std::uint64_t seen = 0;
  for (std::uint64_t at = 0;;) {
    const auto page = after(at, 4);
    EXPECT_EQ(page.missed, 0U);
    EXPECT_EQ(page.oldest, 1U);
    EXPECT_EQ(page.last, 15U);
    if (page.items.empty()) break;
    for (const auto& item : page.items) EXPECT_EQ(item.number, ++seen);
    at = page.next_after;
  }
  EXPECT_EQ(seen, 15U);
  EXPECT_EQ(after(14).items.at(0).host, "h15.test");
  EXPECT_EQ(after(14).items.at(0).result, "refused");
  // One file that became the other while they were opened.
  write(file(11, 15), wire::kOldDecisionLog);
  EXPECT_EQ(after(10).items.size(), 5U);
}

TEST_F(DecisionLogReaderTest, NothingThereYetIsAnEmptyPage) {
  EXPECT_TRUE(after(0).items.empty());
  EXPECT_EQ(after(0).last, 0U);
  EXPECT_EQ(read({.after = 3}).error().reason, "decision_ahead");
  write(file(1, 2));
  EXPECT_EQ(after(2).next_after, 2U);
  EXPECT_EQ(read({.after = 3}).error().reason, "decision_ahead");
  EXPECT_EQ(read({.from_now = true})->next_after, 2U);
  EXPECT_TRUE(read({.from_now = true})->items.empty());
  EXPECT_EQ(read({.from_oldest = true})->items.size(), 2U);
}

TEST_F(DecisionLogReaderTest, WhatIsNoLongerKeptIsCounted) {
  write(file(101, 110), wire::kOldDecisionLog);
  write(file(111, 120));
  EXPECT_EQ(after(40).missed, 60U);
  EXPECT_EQ(after(40).items.front().number, 101U);
  EXPECT_EQ(after(100).missed, 0U);
  EXPECT_EQ(read({.from_oldest = true})->missed, 0U)
      << "from what is kept: nothing was asked for that is not";
}

TEST_F(DecisionLogReaderTest, AHoleEndsAPageAndIsToldWithTheNext) {
  write(file(1, 3) + frame(8) + frame(9));
  const auto first = after(0);
  EXPECT_EQ(first.items.size(), 3U);
  EXPECT_EQ(first.missed, 0U);
  const auto second = after(first.next_after);
  EXPECT_EQ(second.missed, 4U);
  EXPECT_EQ(second.items.front().number, 8U);
  EXPECT_EQ(after(5).missed, 2U);
}

TEST_F(DecisionLogReaderTest, ARestartSaysItselfThatNobodyKnows) {
  write(file(1, 2) + frame(3 + wire::kDecidedStep, wire::DecidedKind::kRestart) +
        frame(4 + wire::kDecidedStep));
  const auto page = after(0);
  ASSERT_EQ(page.items.size(), 4U);
  EXPECT_EQ(page.missed, 0U);
  EXPECT_EQ(page.items[2].kind, "restart");
}

TEST_F(DecisionLogReaderTest, WhatWasNotWrittenSinceIsNotReadAgain) {
  write(file(1, 2));
  const auto page = after(2);
  EXPECT_NE(page.mark, 0U);
  DecidedQuery again{.after = 1, .seen = page.mark};
  EXPECT_TRUE(read(again)->items.empty());
  write(file(1, 3));
  EXPECT_EQ(read(again)->items.size(), 2U);
  EXPECT_NE(read(again)->mark, page.mark);
}

TEST_F(DecisionLogReaderTest, AGateThatWasTakenOverIsNotBelieved) {
  write(file(1, 2) + frame(2) + frame(1) + frame(UINT64_MAX) + frame(3));
  EXPECT_EQ(after(0).last, 3U);
  write(file(1, 2) + std::string(5000, '\xff'));
  EXPECT_EQ(after(0).items.size(), 2U);
  write(std::string(wire::kMostDecisionLog + 1, 'x'));
  EXPECT_EQ(read({}).error().reason, "decisions_damaged");
  write("no log at all");
  EXPECT_TRUE(after(0).items.empty());
  std::filesystem::remove(path());
  std::filesystem::create_symlink("/etc/passwd", path());
  EXPECT_EQ(read({}).error().reason, "decisions_damaged");
  std::filesystem::remove(path());
  ASSERT_EQ(::mkfifo(path().c_str(), 0600), 0);
  EXPECT_EQ(read({}).error().reason, "decisions_damaged") << "and nobody waits for a writer";
  EXPECT_EQ(read_decision_log(temp_.path(), SandboxId("../x"), {}).error().reason, "bad_id");
}

}  // namespace
}  // namespace cay::runtime
