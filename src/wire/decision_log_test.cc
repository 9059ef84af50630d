#include "wire/decision_log.h"

#include <gtest/gtest.h>

namespace cay::wire {
namespace {

DecidedMsg decided(std::uint64_t number, DecidedKind kind = DecidedKind::kConnection) {
  DecidedMsg out;
  out.number = number;
  out.kind = static_cast<std::uint8_t>(kind);
  out.at = 7;
  out.result = static_cast<std::uint8_t>(DecidedResult::kRefused);
  out.host = "a.test";
  out.address = "192.0.2.1";
  out.port = 443;
  out.reason = "not_in_policy";
  out.rule = "!a.test";
  return out;
}

std::string file(std::initializer_list<DecidedMsg> all) {
  std::string out(kDecisionLogHead);
  for (const DecidedMsg& one : all) out += decided_frame(one);
  return out;
}

TEST(DecisionLogFileTest, GivesBackWhatWasWrittenFromThereOn) {
  const std::string bytes =
      file({decided(1), decided(2), decided(3), decided(9), decided(0, DecidedKind::kClosed)});
  const auto all = read_decided(bytes, 0, 100);
  ASSERT_EQ(all.items.size(), 4U);
  EXPECT_EQ(all.items[3].number, 9U);
  EXPECT_EQ(all.items[0].rule, "!a.test");
  EXPECT_EQ(all.good, bytes.size());
  EXPECT_TRUE(all.closed);
  const auto some = read_decided(bytes, 1, 2);
  ASSERT_EQ(some.items.size(), 2U);
  EXPECT_EQ(some.items[0].number, 2U);
  EXPECT_EQ(some.oldest, 1U);
  EXPECT_EQ(some.last, 9U) << "beyond what was asked for, too";
  EXPECT_FALSE(read_decided(file({decided(0, DecidedKind::kClosed), decided(1)}), 0, 9).closed);
}

TEST(DecisionLogFileTest, EveryTornTailEndsItBeforeTheTornLine) {
  const std::string whole = file({decided(1), decided(2)});
  const std::size_t second = file({decided(1)}).size();
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    const auto got = read_decided(std::string_view(whole).substr(0, cut), 0, 9);
    EXPECT_EQ(got.last, cut >= second ? 1U : 0U) << cut;
    EXPECT_FALSE(got.closed);
    EXPECT_LE(got.good, cut);
  }
  std::string changed = whole;
  changed[second + 20] ^= 1;
  EXPECT_EQ(read_decided(changed, 0, 9).last, 1U);
  EXPECT_EQ(read_decided(changed, 0, 9).good, second);
}

TEST(DecisionLogFileTest, WhatCannotBeIsNotBelieved) {
  EXPECT_EQ(read_decided("", 0, 9).last, 0U);
  EXPECT_EQ(read_decided("something else", 0, 9).good, 0U);
  const auto got =
      read_decided(file({decided(5), decided(5), decided(4), decided(kMostDecidedNumber + 1),
                         decided(6), decided(7, static_cast<DecidedKind>(99))}),
                   0, 9);
  ASSERT_EQ(got.items.size(), 2U) << "numbers grow";
  EXPECT_EQ(got.items[1].number, 6U);
  EXPECT_EQ(got.last, 7U) << "of a kind that is not known here";
  std::string huge(kDecisionLogHead);
  huge += std::string("\xff\xff\xff\xff", 4) + std::string(100'000, 'x');
  EXPECT_EQ(read_decided(huge, 0, 9).good, kDecisionLogHead.size());
}

}  // namespace
}  // namespace cay::wire
