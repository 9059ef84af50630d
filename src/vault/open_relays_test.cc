#include "vault/open_relays.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "vault/grants.h"

namespace cay::vault {
namespace {

class OpenRelaysTest : public ::testing::Test {
 protected:
  OpenRelays::One one(const std::string& sandbox, const std::string& name, bool stays) {
    return {sandbox, [stays](const Granted* now) { return stays && now != nullptr; }, [this, name] { cut += name; }};
  }
  OpenRelays all;
  const Granted granted;
  std::string cut;
};

TEST_F(OpenRelaysTest, ThoseOfTheSandboxThatMayNotStayAreCut) {
  const auto a = one("s", "a", false), b = one("s", "b", true), c = one("other", "c", false);
  const auto first = all.enter(a), second = all.enter(b), third = all.enter(c);
  all.judge("s", &granted);
  EXPECT_EQ(cut, "a");
  all.judge("other", &granted);
  EXPECT_EQ(cut, "ac");
}

TEST_F(OpenRelaysTest, WithoutAGrantNoneStays) {
  const auto a = one("s", "a", true);
  const auto first = all.enter(a);
  all.judge("s", &granted);
  EXPECT_EQ(cut, "");
  all.judge("s", nullptr);
  EXPECT_EQ(cut, "a");
}

TEST_F(OpenRelaysTest, OneThatEndsWhileAnotherIsCutIsNotAskedAnyMore) {
  std::unique_ptr<Entered<const OpenRelays::One*>> entered[2];
  const auto take = [&](int other) { return [&, other] { entered[other].reset(); cut += "x"; }; };
  const OpenRelays::One a{"s", [](const Granted*) { return false; }, take(1)}, b{"s", [](const Granted*) { return false; }, take(0)};
  const auto entering = [&](const OpenRelays::One& who) { return std::unique_ptr<Entered<const OpenRelays::One*>>(new Entered<const OpenRelays::One*>(all.enter(who))); };
  entered[0] = entering(a);
  entered[1] = entering(b);
  all.judge("s", nullptr);
  EXPECT_EQ(cut, "x");
}

}  // namespace
}  // namespace cay::vault
