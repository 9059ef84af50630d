#include "gate/dns_name_budget.h"

#include <gtest/gtest.h>

namespace cay::gate {
namespace {

using std::chrono::seconds;

TEST(DnsNameBudgetTest, NewOnesAreBoundedAndOldOnesFree) {
  DnsNameBudget names;
  TokenBucket::Time now{};
  const auto of = [](int number) { return "n" + std::to_string(number) + ".test"; };
  for (int i = 0; i < 2'000; ++i) EXPECT_TRUE(names.may_ask(of(i), now)) << i;
  EXPECT_FALSE(names.may_ask("new.test", now));
  EXPECT_FALSE(names.may_ask("new.test", now)) << "asking does not make it known";
  for (int i = 0; i < 2'000; ++i) EXPECT_TRUE(names.may_ask(of(i), now)) << i;
  now += seconds(1);
  int may = 0;
  for (int i = 0; i < 100; ++i) may += names.may_ask("later" + of(i), now) ? 1 : 0;
  EXPECT_EQ(may, 30);
}

TEST(DnsNameBudgetTest, WhatIsRememberedIsBounded) {
  DnsNameBudget names;
  TokenBucket::Time now{};
  EXPECT_TRUE(names.may_ask("first.test", now));
  for (std::size_t i = 0; i < DnsNameBudget::kMost; ++i) {
    now += seconds(1);
    EXPECT_TRUE(names.may_ask("n" + std::to_string(i) + ".test", now));
  }
  int may = 0;
  while (names.may_ask("more" + std::to_string(may) + ".test", now)) ++may;
  EXPECT_FALSE(names.may_ask("first.test", now)) << "it is new again";
  EXPECT_TRUE(names.may_ask("more0.test", now));
}

}  // namespace
}  // namespace cay::gate
