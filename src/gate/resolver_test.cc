#include "gate/resolver.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <mutex>
#include <set>

#include "async/scope.h"
#include "async/testing.h"

namespace cay::gate {
namespace {

// Names that begin with "slow" are answered when they are let go.
class Servers {
 public:
  ~Servers() { let_go(); }
  Resolved answer(const std::string& name) {
    std::unique_lock lock(mutex_);
    asked_.insert(name);
    if (name.starts_with("slow")) gone_.wait(lock, [this] { return open_; });
    if (name.starts_with("throws")) throw std::runtime_error("no memory");
    return {Resolved::Outcome::kFound, {*IpAddress::parse("192.0.2.1")}};
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    gone_.notify_all();
  }
  std::multiset<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable gone_;
  std::multiset<std::string> asked_;
  bool open_ = false;
};

class ResolverTest : public ::testing::Test {
 protected:
  asio::awaitable<void> ask(std::string name, const void* asker) {
    auto found = co_await resolver_.resolve(std::move(name), asker);
    if (found.outcome == Resolved::Outcome::kFound) ++found_;
  }
  asio::awaitable<void> ask_many_then_one() {
    Scope scope(loop_.get_executor());
    for (int i = 0; i < 40; ++i) scope.spawn(ask("slow" + std::to_string(i), &one_));
    for (int i = 0; i < 2; ++i) scope.spawn(ask("quick" + std::to_string(i), &one_));
    co_await ask("first", &other_);
    co_await ask("quick1", &other_);  // which the first asker waits for in vain
    EXPECT_EQ(found_, 3) << "the first asker has that one with it";
    EXPECT_LE(servers_.asked().size(), Resolver::kMostOfOne + 2U);
    servers_.let_go();
    co_await scope.join();
  }
  asio::awaitable<void> leave_and_ask_again() {
    {
      Scope scope(loop_.get_executor());
      for (int i = 0; i < 40; ++i) scope.spawn(ask("slow" + std::to_string(i), &one_));
      co_await ask("first", &other_);
      scope.cancel();
      co_await scope.join();
    }
    servers_.let_go();
    co_await ask("slow0", &other_);  // begun for the one that left: it is answered all the same
    co_await ask("last", &one_);
    EXPECT_EQ(servers_.asked().size(), Resolver::kMostOfOne + 2U) << "nobody waits for the others any more";
    co_await ask("slow30", &one_);
    EXPECT_EQ(found_, 4);
  }

  asio::io_context loop_;
  Servers servers_;
  Resolver resolver_{loop_.get_executor(), [this](const std::string& name) { return servers_.answer(name); }};
  int one_ = 0, other_ = 0, found_ = 0;
};

TEST_F(ResolverTest, NamesThatNobodyAnswersHoldUpOnlyTheirAsker) {
  testing::run(loop_, ask_many_then_one());
  EXPECT_EQ(found_, 44);
}

TEST_F(ResolverTest, WhoLeavesLeavesNothingBehind) { testing::run(loop_, leave_and_ask_again()); }

TEST_F(ResolverTest, AnswersAreKeptAndFailuresAreOnesOwn) {
  testing::run(loop_, ask("a", &one_));
  testing::run(loop_, ask("a", &other_));
  EXPECT_EQ(servers_.asked().count("a"), 1U);
  testing::run(loop_, ask("throws", &one_));
  EXPECT_EQ(found_, 2);
  testing::run(loop_, ask("b", &one_));
  EXPECT_EQ(found_, 3);
}

}  // namespace
}  // namespace cay::gate
