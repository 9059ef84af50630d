#include "vault/open_relays.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "async/testing.h"
#include "vault/grants.h"

namespace cay::vault {
namespace {

using In = Entered<OpenRelays::Place>;

class OpenRelaysTest : public ::testing::Test {
 protected:
  OpenRelays::One one(const std::string& sandbox, const std::string& name, bool stays) {
    return {sandbox, [stays](const Granted* now) { return stays && now != nullptr; },
            [this, name] { cut += name; }};
  }
  void judge(const std::string& sandbox, std::shared_ptr<const Granted> now) {
    const OpenRelays::Now which = [now] { return now; };
    cay::testing::run<void>(loop, all.judge(sandbox, which));
  }
  std::unique_ptr<In> entering(const OpenRelays::One& who) {
    return std::unique_ptr<In>(new In(all.enter(who)));
  }
  asio::io_context loop;
  OpenRelays all;
  const std::shared_ptr<const Granted> granted = std::make_shared<Granted>();
  std::string cut;
};

TEST_F(OpenRelaysTest, ThoseOfTheSandboxThatMayNotStayAreCut) {
  const auto a = one("s", "a", false), b = one("s", "b", true), c = one("other", "c", false);
  const auto first = all.enter(a), second = all.enter(b), third = all.enter(c);
  judge("s", granted);
  EXPECT_EQ(cut, "a");
  judge("other", granted);
  EXPECT_EQ(cut, "ac");
}

TEST_F(OpenRelaysTest, WithoutAGrantNoneStays) {
  const auto a = one("s", "a", true);
  const auto first = all.enter(a);
  judge("s", granted);
  EXPECT_EQ(cut, "");
  judge("s", nullptr);
  EXPECT_EQ(cut, "a");
}

TEST_F(OpenRelaysTest, OneThatEndsWhileAnotherIsCutIsNotAskedAnyMore) {
  std::unique_ptr<In> entered[2];
  const auto take = [&](int other) {
    return [&, other] {
      entered[other].reset();
      cut += "x";
    };
  };
  const OpenRelays::One a{"s", [](const Granted*) { return false; }, take(1)},
      b{"s", [](const Granted*) { return false; }, take(0)};
  entered[0] = entering(a);
  entered[1] = entering(b);
  judge("s", nullptr);
  EXPECT_EQ(cut, "x");
}

// Two changes at once: of a sandbox with many connections, and then of one with one.
TEST_F(OpenRelaysTest, ASandboxWithManyTakesNoneOfTheTimeOfOthers) {
  constexpr std::size_t kMany = 40 * OpenRelays::kInARow;
  std::string order;
  std::deque<OpenRelays::One> ones;
  std::vector<std::unique_ptr<In>> in;
  const auto open = [&](const std::string& sandbox) {
    ones.push_back({sandbox,
                    [&order, sandbox](const Granted*) {
                      order += sandbox;
                      return false;
                    },
                    [] {}});
    in.push_back(entering(ones.back()));
  };
  for (std::size_t i = 0; i < kMany; ++i) open("m");
  open("f");
  const OpenRelays::Now none = [] { return nullptr; };
  for (const char* sandbox : {"m", "f"}) {
    asio::co_spawn(loop, all.judge(sandbox, none),
                   [](std::exception_ptr failure) { EXPECT_FALSE(failure); });
  }
  loop.run();
  EXPECT_EQ(std::ranges::count(order, 'm'), static_cast<std::ptrdiff_t>(kMany));
  EXPECT_LE(order.find('f'), OpenRelays::kInARow) << "it had its turn after the first few";
}

// A connection that is judged later is judged by the newest grant.
TEST_F(OpenRelaysTest, AChangeThatComesMeanwhileCountsForTheRest) {
  std::deque<OpenRelays::One> ones;
  std::vector<std::unique_ptr<In>> in;
  std::shared_ptr<const Granted> now;
  for (std::size_t i = 0; i < 2 * OpenRelays::kInARow; ++i) {
    ones.push_back(one("s", "x", true));
    in.push_back(entering(ones.back()));
  }
  const OpenRelays::Now which = [&] { return now; };
  asio::co_spawn(loop, all.judge("s", which),
                 [](std::exception_ptr failure) { EXPECT_FALSE(failure); });
  while (cut.empty() && loop.run_one() > 0) {
  }
  now = granted;
  loop.run();
  EXPECT_EQ(cut.size(), OpenRelays::kInARow);
}

}  // namespace
}  // namespace cay::vault
