#include "code/ledger.h"

#include <gtest/gtest.h>

#include <string>

namespace cay::code {
namespace {

std::string begun(const std::string& run, int from, int at) {
  return R"({"run":")" + run + R"(","type":"begin","tag":"t","from":)" + std::to_string(from) +
         R"(,"at":)" + std::to_string(at) + "}\n";
}
std::string ended(const std::string& run, int code, int at, const std::string& more = "") {
  return R"({"run":")" + run + R"(","type":"done","status":"error","exit_code":)" +
         std::to_string(code) + more + R"(,"at":)" + std::to_string(at) + "}\n";
}

TEST(LedgerTest, TellsTheEndOfEach) {
  const std::string text = "bash: a word of somebody else\n" + begun("a", 0, 5) +
                           ended("a", 3, 90, R"(,"jobs":true,"cwd":"/x")") +
                           R"({"run":"a","type":"closed","at":120})" + "\n" + begun("b", 90, 130);
  for (std::size_t cut = 1; cut < text.size(); cut += 7) {
    Ledger ledger;
    EXPECT_TRUE(ledger.is_empty());
    for (std::size_t at = 0; at < text.size(); at += cut) ledger.feed(text.substr(at, cut));
    EXPECT_EQ(ledger.read_to(), text.size());
    EXPECT_FALSE(ledger.is_empty());
    EXPECT_FALSE(ledger.is_idle());
    const LedgerEntry* a = ledger.find("a");
    ASSERT_NE(a, nullptr);
    EXPECT_EQ(a->at, 5u);
    EXPECT_EQ(a->end, 90u);
    EXPECT_EQ(a->state, EvaluationState::kError);
    EXPECT_EQ(a->exit_code, 3u);
    EXPECT_EQ(a->cwd, "/x");
    EXPECT_TRUE(a->has_jobs);
    EXPECT_EQ(a->jobs_end_at, 120u);
    const LedgerEntry* b = ledger.find("b");
    ASSERT_NE(b, nullptr);
    EXPECT_EQ(b->from, 90u);
    EXPECT_FALSE(b->end);
    ledger.feed(ended("b", 0, 200));
    EXPECT_TRUE(ledger.is_idle());
    EXPECT_TRUE(ledger.is_complete());
  }
}

TEST(LedgerTest, TakesTheFirstEndAlone) {
  Ledger ledger;
  ledger.feed(ended("a", 1, 10) + begun("a", 0, 20) + ended("a", 2, 30) + begun("a", 0, 40) +
              ended("a", 3, 50));
  ASSERT_NE(ledger.find("a"), nullptr);
  EXPECT_EQ(ledger.find("a")->at, 20u);
  EXPECT_EQ(ledger.find("a")->exit_code, 2u);
}

TEST(LedgerTest, ReadsWhatTheDriverHoldsBackFromItsOutput) {
  const auto event = [](const std::string& run, const std::string& members) {
    return R"({"run":")" + run + R"(","type":)" + members + "}\n";
  };
  const std::string before = "noise\n" + event("", R"("stdout","text":"late")");
  const std::string begin = event("b", R"("begin","tag":"u")");
  const std::string done =
      event("b", R"("result","data":{})") + event("b", R"("done","status":"interrupted")");
  Ledger ledger;
  ledger.feed(begun("a", 0, 5) + ended("a", 3, 90));
  EXPECT_EQ(ledger.listed_to(), 90u);
  ledger.feed_unlisted(before + begin + done.substr(0, 10));
  const std::uint64_t at = 90 + before.size();
  EXPECT_EQ(ledger.listed_to(), at + begin.size()) << "whole lines count";
  EXPECT_FALSE(ledger.is_idle());
  const LedgerEntry* b = ledger.find("b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->tag, "u");
  EXPECT_EQ(b->from, 90u);
  EXPECT_EQ(b->at, at);
  EXPECT_FALSE(b->end);
  ledger.feed_unlisted(done);
  const std::uint64_t end = at + begin.size() + done.size();
  EXPECT_EQ(b->end, end);
  EXPECT_EQ(b->state, EvaluationState::kInterrupted);
  EXPECT_TRUE(ledger.is_idle());
  EXPECT_TRUE(ledger.is_complete());
  // The same lines come later.
  ledger.feed(begun("b", 90, static_cast<int>(at)));
  EXPECT_TRUE(ledger.is_idle()) << "its end was read";
  ledger.feed(ended("b", 7, static_cast<int>(end)) + begun("c", 0, 9000));
  EXPECT_EQ(b->state, EvaluationState::kInterrupted);
  EXPECT_FALSE(ledger.is_idle());
  EXPECT_EQ(ledger.listed_to(), 9000u);
}

TEST(LedgerTest, IsBoundedAndSaysSo) {
  Ledger ledger;
  Ledger only("r1");
  std::string text;
  for (std::size_t i = 0; i <= Ledger::kMostEntries; ++i) {
    const std::string run = "r" + std::to_string(i);
    text += begun(run, 0, 0) + ended(run, 0, 1);
  }
  ledger.feed(text);
  only.feed(text);
  EXPECT_FALSE(ledger.is_complete());
  EXPECT_EQ(ledger.find("r0"), nullptr);
  EXPECT_NE(ledger.find("r1"), nullptr);
  EXPECT_TRUE(only.is_complete());
  EXPECT_NE(only.find("r1"), nullptr);
  EXPECT_EQ(only.find("r2"), nullptr);
  ledger.feed(std::string(1 << 20, 'x') + "\n" + begun("z", 0, 0));
  EXPECT_NE(ledger.find("z"), nullptr);

  Ledger cut;
  cut.feed(begun("a", 0, 0) + R"({"run":"a","type":"do)");
  cut.gap(10);
  cut.feed("rest\n" + begun("b", 0, 0));
  EXPECT_FALSE(cut.is_complete());
  EXPECT_FALSE(cut.find("a")->end);
  EXPECT_NE(cut.find("b"), nullptr);
}

}  // namespace
}  // namespace cay::code
