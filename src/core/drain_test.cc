// Draining: nothing new begins, what runs goes on, and only the operator may.
#include "core/core_fixture.h"

namespace cay::core {
namespace {

class DrainTest : public CoreTest {
 protected:
  Principal operator_key{
      .tenant = TenantId("default"), .key_name = "default", .scope = KeyScope::kAdmin};
  Result<DrainStatus> set(bool on) { return run(core->drain().set(operator_key, on)); }
  std::vector<Cay::Check> unready() {
    auto checks = core->readiness();
    std::erase_if(checks, [](const Cay::Check& check) { return check.ok; });
    return checks;
  }
};

TEST_F(DrainTest, OnlyTheOperatorMay) {
  ASSERT_TRUE(open());
  EXPECT_EQ(run(core->drain().set(alice, true)).error().reason, "not_operator");
  EXPECT_EQ(run(core->drain().status(alice)).error().reason, "not_operator");
  EXPECT_EQ(run(core->drain().stop_all(alice)).error().reason, "not_operator");
  const Principal named_like_it{TenantId("default"), "other"};
  EXPECT_EQ(run(core->drain().set(named_like_it, true)).error().reason, "not_operator");
  ASSERT_TRUE(create("box"));  // none of them switched it on
  EXPECT_TRUE(set(true)) << "positive control";
}

TEST_F(DrainTest, NothingNewBeginsAndWhatRunsGoesOn) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("box"));
  ASSERT_TRUE(create("asleep"));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "asleep")));
  ASSERT_TRUE(run(core->commands().start(alice, "box", command("first"))));
  const auto status = set(true);
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->draining);
  const auto not_ready = unready();
  ASSERT_EQ(not_ready.size(), 1U);  // a balancer sends nobody here
  EXPECT_EQ(not_ready.front().name, "admitting");
  EXPECT_NE(not_ready.front().detail.find("draining"), std::string::npos);
  EXPECT_EQ(status->running_sandboxes, 1U);
  EXPECT_EQ(create("other").error().reason, "draining");
  EXPECT_EQ(run(core->sandboxes().start(alice, "asleep")).error().reason, "draining");
  EXPECT_EQ(run(core->commands().start(alice, "asleep", command("wakes"))).error().reason,
            "draining");
  EXPECT_EQ(run(core->commands().start(alice, "box", command("second"))).error().reason,
            "draining");
  EXPECT_EQ(run(core->commands().run(alice, "box", command("third"))).error().reason, "draining");
  EXPECT_EQ(state("asleep"), SandboxState::kStopped);
  EXPECT_TRUE(run(core->commands().start(alice, "box", command("first"))))
      << "a repeat finds its command";
  EXPECT_TRUE(run(core->commands().attach(alice, "box", CommandId("first"), {})));
  EXPECT_TRUE(run(core->commands().kill(alice, "box", CommandId("first"), 0)));
  ASSERT_TRUE(set(false));
  EXPECT_TRUE(unready().empty());
  EXPECT_TRUE(create("other"));
  EXPECT_TRUE(run(core->commands().start(alice, "asleep", command("wakes"))));
}

TEST_F(DrainTest, WhatWaitedForASlotWhenItBeganLeavesNothing) {
  config.host.max_sandboxes = 1;
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("first"));
  auto waiting = begin(core->sandboxes().create(alice, named("second"), CreateOptions{}));
  ASSERT_TRUE(set(true));
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "first")));
  EXPECT_EQ(finish(waiting).error().reason, "draining");
  expect_nothing_left();
  ASSERT_TRUE(set(false));
  EXPECT_TRUE(create("second"));
}

TEST_F(DrainTest, ItIsToldBeforehandUnlessThereIsSomethingToComeBackTo) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("box"));
  ASSERT_TRUE(create("busy"));
  ASSERT_TRUE(run(core->commands().start(alice, "busy", command("first"))));
  ASSERT_TRUE(set(true));
  EXPECT_EQ(run(core->commands().wake(alice, "box")).error().reason, "draining");
  EXPECT_TRUE(run(core->commands().wake(alice, "busy")));
  ASSERT_TRUE(set(false));
  ASSERT_TRUE(run(core->sandboxes().pause(alice, "box")));
  ASSERT_TRUE(run(core->sandboxes().pause(alice, "busy")));
  EXPECT_EQ(run(core->commands().wake(alice, "box")).error().reason, "sandbox_paused");
  EXPECT_TRUE(run(core->commands().wake(alice, "busy")));
  EXPECT_EQ(state("box"), SandboxState::kPaused);
}

TEST_F(DrainTest, SilentKeepersHoldUpTheCountOnceNotEach) {
  ASSERT_TRUE(open());
  for (const auto* name : {"one", "two", "three", "four"}) {
    ASSERT_TRUE(create(name));
    runtime.box(run(core->sandboxes().get(alice, name))->id).silent = name != std::string("four");
  }
  const auto begun = std::chrono::steady_clock::now();
  const auto status = set(true);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(3500));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->silent_sandboxes, 3U);
  EXPECT_EQ(status->running_sandboxes, 4U);
}

TEST_F(DrainTest, StopsThoseOfEveryTenant) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("box"));
  ASSERT_TRUE(run(core->sandboxes().create(bob, named("bobs"), {})));
  const auto status = run(core->drain().stop_all(operator_key));
  ASSERT_TRUE(status);
  EXPECT_EQ(status->running_sandboxes, 0U);
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  EXPECT_EQ(run(core->sandboxes().get(alice, "box"))->reason, kStoppedByDrain);
  EXPECT_TRUE(runtime.alive.empty());
}

TEST_F(DrainTest, ADaemonThatStartsAgainAdmits) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(set(true));
  ASSERT_TRUE(open());
  EXPECT_TRUE(create("box"));
}

}  // namespace
}  // namespace cay::core
