#include "core/core_fixture.h"

namespace cay::core {
namespace {

class DecisionsTest : public CoreTest {
 protected:
  void decide(std::uint64_t number) {
    Decided one;
    one.number = number;
    one.kind = "connection";
    one.result = "refused";
    runtime.decided.push_back(std::move(one));
  }
  Task<DecidedPage> ask(std::uint64_t after, std::chrono::milliseconds wait) {
    return core->inspection().decisions(alice, "box", {.after = after}, wait);
  }
};

TEST_F(DecisionsTest, AFollowerWaitsUntilSomethingIsDecided) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("box"));
  decide(1);
  EXPECT_EQ(run(ask(0, std::chrono::seconds(30)))->items.size(), 1U)
      << "what is there is told at once";
  auto waiting = begin(ask(1, std::chrono::seconds(30)));
  EXPECT_FALSE(waiting->done());
  decide(2);
  const auto page = finish(waiting);
  ASSERT_TRUE(page);
  ASSERT_EQ(page->items.size(), 1U);
  EXPECT_EQ(page->next_after, 2U);
  EXPECT_TRUE(run(ask(2, std::chrono::milliseconds(1)))->items.empty())
      << "and no longer than it was to";
}

TEST_F(DecisionsTest, AreTheTenantsOwn) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("box"));
  EXPECT_EQ(run(core->inspection().decisions(bob, "box", {}, {})).error().reason,
            "sandbox_not_found");
  EXPECT_TRUE(run(core->inspection().decisions(alice, "box", {}, {})));
}

TEST_F(DecisionsTest, TheWaitEndsWithTheSandbox) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("box"));
  auto waiting = begin(ask(0, std::chrono::seconds(30)));
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "box")));
  EXPECT_EQ(finish(waiting).error().reason, "sandbox_not_found");
}

}  // namespace
}  // namespace cay::core
