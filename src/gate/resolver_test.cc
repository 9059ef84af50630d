#include "gate/resolver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <mutex>
#include <set>
#include <string>

#include "async/deadline.h"
#include "async/scope.h"
#include "async/testing.h"
#include "base/testing/stepped_clock.h"

namespace cay::gate {
namespace {

// Names that begin with "slow" are answered when they, or all, are let go.
class Servers {
 public:
  ~Servers() { let_go(); }
  Resolved answer(const std::string& name) {
    std::unique_lock lock(mutex_);
    asked_.insert(name);
    if (name.starts_with("slow"))
      changed_.wait(lock, [&] { return open_ || gone_.contains(name); });
    if (name.starts_with("throws")) throw std::runtime_error("no memory");
    return {Resolved::Outcome::kFound, {*IpAddress::parse("192.0.2.1")}};
  }
  void let_go() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }
  void let_go(const std::string& name) {
    const std::lock_guard lock(mutex_);
    gone_.insert(name);
    changed_.notify_all();
  }
  std::multiset<std::string> asked() {
    const std::lock_guard lock(mutex_);
    return asked_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multiset<std::string> asked_;
  std::set<std::string> gone_;
  bool open_ = false;
};

class ResolverTest : public ::testing::Test {
 protected:
  asio::awaitable<void> ask(std::string name, std::string asker) {
    auto found = co_await resolver_.resolve(std::move(name), std::move(asker));
    if (found.outcome == Resolved::Outcome::kFound) ++found_;
  }
  // `names` of `asker`'s own, which nobody answers.
  void ask_slow(Scope& scope, const std::string& asker, int names, const std::string& round = "") {
    for (int i = 0; i < names; ++i)
      scope.spawn(ask("slow-" + asker + round + "-" + std::to_string(i), asker));
  }
  // How many of its names were looked up.
  static std::size_t of(const std::multiset<std::string>& asked, const std::string& asker) {
    return static_cast<std::size_t>(std::ranges::count_if(
        asked, [&](const std::string& name) { return name.starts_with("slow-" + asker); }));
  }
  static asio::awaitable<void> turn() { co_await sleep_for(Millis{1}); }
  asio::awaitable<void> until_asked(std::size_t most) {
    while (servers_.asked().size() < most) {
      co_await turn();
    }
  }
  asio::awaitable<void> ask_many_then_one() {
    Scope scope(loop_.get_executor());
    ask_slow(scope, "one", 40);
    for (int i = 0; i < 2; ++i) scope.spawn(ask("quick" + std::to_string(i), "one"));
    co_await ask("first", "other");
    co_await ask("quick1",
                 "other");  // which the first asker waits for in vain, and goes on doing so
    EXPECT_EQ(found_, 2);
    EXPECT_LE(servers_.asked().size(), Resolver::kMostOfOne + 2U);
    servers_.let_go();
    co_await scope.join();
  }
  // Enough of them to hold all threads, but those that are kept.
  asio::awaitable<void> ask_as_many_do() {
    constexpr unsigned kMany = (Resolver::kThreads - Resolver::kKept) / Resolver::kMostOfOne;
    Scope scope(loop_.get_executor());
    for (unsigned i = 0; i < kMany; ++i)
      ask_slow(scope, std::string(1, static_cast<char>('a' + i)), 40);
    ask_slow(scope, "late", 40);
    for (int i = 0; i < 40; ++i) {
      co_await ask("quick" + std::to_string(i), "other");
    }
    co_await until_asked(kMany * Resolver::kMostOfOne + 1 + 40);
    EXPECT_EQ(of(servers_.asked(), "a"), Resolver::kMostOfOne);
    EXPECT_EQ(of(servers_.asked(), "late"), 1U) << "of those that are kept nobody has two";
    servers_.let_go();
    co_await scope.join();
  }
  // So many that each has at most one: at first they have all threads, for they are known for
  // nothing.
  asio::awaitable<void> ask_over_and_over() {
    Scope scope(loop_.get_executor());
    const auto round = [&](const std::string& which) {
      for (int i = 0; i < 40; ++i) ask_slow(scope, "many" + std::to_string(i), 1, which);
    };
    round("a");
    for (std::size_t begun = 0; begun < 40;) {
      begun = std::min<std::size_t>(begun + Resolver::kThreads, 40);
      co_await until_asked(begun);
      clock_.now += std::chrono::seconds(8);
      for (const std::string& name : servers_.asked()) servers_.let_go(name);
    }
    while (found_ < 40) {
      co_await turn();
    }
    round("b");
    clock_.now += std::chrono::seconds(8);
    for (int i = 0; i < 40; ++i) {
      co_await ask("quick" + std::to_string(i), "other");
    }
    co_await until_asked(40 + Resolver::kThreads - Resolver::kKept + 40);
    EXPECT_EQ(of(servers_.asked(), "many"), 40 + Resolver::kThreads - Resolver::kKept);
    servers_.let_go();
    co_await scope.join();
    EXPECT_EQ(found_, 40 + 40 + 40);
  }
  asio::awaitable<void> ask_with_some_running() {
    Scope scope(loop_.get_executor());
    ask_slow(scope, "c", 2);
    ask_slow(scope, "a", 40);
    ask_slow(scope, "b", 40);
    ask_slow(scope, "d", 2);
    co_await until_asked(Resolver::kThreads - Resolver::kKept);
    ask_slow(scope, "c", 4, "more");
    ask_slow(scope, "d", 4, "more");
    for (const char* name : {"slow-a-0", "slow-a-1"}) {
      const std::size_t before = servers_.asked().size();
      servers_.let_go(name);
      co_await until_asked(before + 1);
    }
    EXPECT_EQ(of(servers_.asked(), "c"), 3U);
    EXPECT_EQ(of(servers_.asked(), "d"), 3U);
    EXPECT_EQ(of(servers_.asked(), "a"), 4U) << "who has the most running waits";
    servers_.let_go();
    co_await scope.join();
  }
  asio::awaitable<void> leave_and_ask_again() {
    {
      Scope scope(loop_.get_executor());
      ask_slow(scope, "one", 40);
      co_await ask("first", "other");
      scope.cancel();
      co_await scope.join();
    }
    servers_.let_go();
    co_await ask("slow-one-0", "one");  // begun for the one that left: it is answered all the same
    co_await ask("last", "one");
    EXPECT_EQ(servers_.asked().size(), Resolver::kMostOfOne + 2U)
        << "nobody waits for the others any more";
    co_await ask("slow-one-30", "one");
    EXPECT_EQ(found_, 4);
  }

  asio::io_context loop_;
  Servers servers_;
  testing::SteppedClock clock_;
  Resolver resolver_{loop_.get_executor(),
                     [this](const std::string& name) { return servers_.answer(name); }, clock_};
  int found_ = 0;
};

TEST_F(ResolverTest, NamesThatNobodyAnswersHoldUpOnlyTheirAsker) {
  testing::run(loop_, ask_many_then_one());
  EXPECT_EQ(found_, 44);
}

TEST_F(ResolverTest, SomeThreadsAreForThoseWhoHaveNothingRunning) {
  testing::run(loop_, ask_as_many_do());
}

TEST_F(ResolverTest, ThoseWhoAskForWhatTakesLongStandBehindTheOthers) {
  testing::run(loop_, ask_over_and_over());
}

TEST_F(ResolverTest, WhoHasTheFewestRunningIsNext) { testing::run(loop_, ask_with_some_running()); }

TEST_F(ResolverTest, WhoLeavesLeavesNothingBehind) { testing::run(loop_, leave_and_ask_again()); }

TEST_F(ResolverTest, AnswersAreKeptForTheirAskerAndFailuresAreOnesOwn) {
  testing::run(loop_, ask("a", "one"));
  testing::run(loop_, ask("a", "one"));
  EXPECT_EQ(servers_.asked().count("a"), 1U);
  testing::run(loop_, ask("a", "other"));
  EXPECT_EQ(servers_.asked().count("a"), 2U)
      << "an answer that is there would tell of the first one's question";
  testing::run(loop_, ask("throws", "one"));
  EXPECT_EQ(found_, 3);
  testing::run(loop_, ask("b", "one"));
  EXPECT_EQ(found_, 4);
}

TEST_F(ResolverTest, ManyNamesOfOneAskerPushOutNoneOfOthers) {
  testing::run(loop_, ask("a", "one"));
  testing::run(loop_, ask("a", "other"));
  for (int i = 0; i < 300; ++i) testing::run(loop_, ask("n" + std::to_string(i), "one"));
  testing::run(loop_, ask("a", "other"));
  EXPECT_EQ(servers_.asked().count("a"), 2U);
  testing::run(loop_, ask("a", "one"));
  EXPECT_EQ(servers_.asked().count("a"), 3U) << "its own, which it asked for since";
}

}  // namespace
}  // namespace cay::gate
