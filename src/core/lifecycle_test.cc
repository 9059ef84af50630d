#include "core/core_fixture.h"

namespace cay::core {
namespace {

using std::chrono::milliseconds;

class LifecycleTest : public CoreTest {
 protected:
  LifecycleTest() {
    EXPECT_TRUE(open());
    auto made = create("box");
    EXPECT_TRUE(made);
    id = made->id;
  }
  SandboxId id;
};

TEST_F(LifecycleTest, StopKeepsTheDiskAndStartBringsItBack) {
  runtime.box(id).fake_files().put("/home/user/a", "kept");
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  EXPECT_TRUE(run(core->sandboxes().get(alice, "box"))->stopped_at);
  EXPECT_TRUE(runtime.alive.empty());
  const auto started = run(core->sandboxes().start(alice, "box"));
  EXPECT_EQ(started->state, SandboxState::kProvisioning);
  drain();
  EXPECT_EQ(state("box"), SandboxState::kReady);
  EXPECT_FALSE(run(core->sandboxes().get(alice, "box"))->stopped_at);
  EXPECT_EQ(runtime.box(id).fake_files().bytes_of("/home/user/a"), "kept");
}

TEST_F(LifecycleTest, StartOfAReadyOneAndStopOfAStoppedOneAreFine) {
  EXPECT_EQ(run(core->sandboxes().start(alice, "box"))->state, SandboxState::kReady);
  EXPECT_EQ(runtime.boots.size(), 1U);
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  EXPECT_EQ(runtime.stops.size(), 1U);
}

TEST_F(LifecycleTest, StopThatFailsLeavesItReady) {
  runtime.stop_error = Error{Code::kUnavailable, "launcher_unavailable", "no launcher"};
  EXPECT_EQ(run(core->sandboxes().stop(alice, "box")).error().reason, "launcher_unavailable");
  EXPECT_EQ(state("box"), SandboxState::kReady);
  EXPECT_TRUE(run(core->commands().start(alice, "box", command("c"))));
}

TEST_F(LifecycleTest, WhatEndsInAStopIsStoppedAtOnceWhateverTheStopCannotDo) {
  runtime.hold_stops = true;
  auto stopping = begin(core->sandboxes().stop(alice, "box"));
  runtime.die(id, "sandbox ended");
  EXPECT_EQ(state("box"), SandboxState::kStopped) << "and not ready with nothing behind it";
  runtime.stop_error = Error{Code::kUnavailable, "launcher_unavailable", "no launcher"};
  runtime.release_stops();
  EXPECT_TRUE(finish(stopping));
  drain();
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  EXPECT_GE(runtime.stops.size(), 2U) << "what is left is tried again";
  runtime.stop_error.reset();
  EXPECT_TRUE(run(core->sandboxes().start(alice, "box")));
  drain();
  EXPECT_EQ(state("box"), SandboxState::kReady);
}

TEST_F(LifecycleTest, AStopIsOnRecordWhileItIsUnderWay) {
  runtime.hold_stops = true;
  auto stopping = begin(core->sandboxes().stop(alice, "box"));
  EXPECT_EQ(**store.get_meta("stopping"), id.get());
  runtime.stop_error = Error{Code::kUnavailable, "launcher_unavailable", "no launcher"};
  runtime.release_stops();
  EXPECT_FALSE(finish(stopping));
  EXPECT_EQ(**store.get_meta("stopping"), "") << "a stop that failed is none";
  runtime.stop_error.reset();
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  EXPECT_EQ(**store.get_meta("stopping"), "");
}

TEST_F(LifecycleTest, WhoNeedsWhatIsBeingStoppedWaitsNoLongerThanForAWake) {
  config.timing.wake_wait = milliseconds(20);
  ASSERT_TRUE(open());
  runtime.hold_stops = true;
  auto stopping = begin(core->sandboxes().stop(alice, "box"));
  EXPECT_EQ(run(core->commands().start(alice, "box", command("c"))).error().code, Code::kNotReady);
  EXPECT_EQ(run(core->sandboxes().start(alice, "box")).error().code, Code::kNotReady);
  runtime.release_stops();
  EXPECT_TRUE(finish(stopping));
}

TEST_F(LifecycleTest, CallerThatGoesAwayDoesNotLeaveAStopHalfDone) {
  runtime.hold_stops = true;
  auto stopping = begin(core->sandboxes().stop(alice, "box"));
  stopping->cancel();
  drain();
  EXPECT_TRUE(stopping->done());
  runtime.release_stops();
  drain();
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

TEST_F(LifecycleTest, StopWhileStartingGivesTheStartUp) {
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  runtime.hold_boots = true;
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  EXPECT_EQ(runtime.booting, 0);
  EXPECT_TRUE(runtime.alive.empty());
}

TEST_F(LifecycleTest, StartWhileStoppingStartsAfterwards) {
  runtime.hold_stops = true;
  auto stopping = begin(core->sandboxes().stop(alice, "box"));
  auto starting = begin(core->sandboxes().start(alice, "box"));
  EXPECT_FALSE(starting->done());
  runtime.release_stops();
  EXPECT_TRUE(finish(stopping));
  EXPECT_TRUE(finish(starting));
  drain();
  EXPECT_EQ(state("box"), SandboxState::kReady);
}

TEST_F(LifecycleTest, RemoveWorksInEveryStateAndAtOnceForMany) {
  auto one = begin(core->sandboxes().remove(alice, "box"));
  auto two = begin(core->sandboxes().remove(alice, id.get()));
  EXPECT_TRUE(finish(one));
  // The second found it still there, or already gone: both are what it wanted to know.
  auto second = finish(two);
  if (!second) EXPECT_EQ(second.error().reason, "sandbox_not_found");
  EXPECT_EQ(runtime.destroys.size(), 1U);
  expect_nothing_left();
  EXPECT_EQ(run(core->sandboxes().remove(alice, "box")).error().reason, "sandbox_not_found");
}

TEST_F(LifecycleTest, StopStartAndRemoveTogetherEndRemoved) {
  runtime.hold_stops = true;
  auto stopping = begin(core->sandboxes().stop(alice, "box"));
  auto starting = begin(core->sandboxes().start(alice, "box"));
  auto first = begin(core->sandboxes().remove(alice, "box"));
  auto second = begin(core->sandboxes().remove(alice, "box"));
  EXPECT_EQ(state("box"), SandboxState::kDeleting);
  runtime.release_stops();
  EXPECT_TRUE(finish(first));
  EXPECT_TRUE(finish(second));
  (void)finish(stopping);
  (void)finish(starting);
  drain();
  expect_nothing_left();
}

TEST_F(LifecycleTest, RemoveThatFailsIsSaidAndTriedAgain) {
  runtime.destroy_error = Error{Code::kUnavailable, "launcher_unavailable", "no launcher"};
  EXPECT_EQ(run(core->sandboxes().remove(alice, "box")).error().reason, "launcher_unavailable");
  EXPECT_EQ(state("box"), SandboxState::kDeleting);
  EXPECT_EQ(run(core->commands().start(alice, "box", command("c"))).error().reason,
            "sandbox_not_ready");
  runtime.destroy_error.reset();
  EXPECT_TRUE(run(core->sandboxes().remove(alice, "box")));
  expect_nothing_left();
}

TEST_F(LifecycleTest, ARemovalThatGoesOnIsSaidToAndEndsWithNobodyAsking) {
  runtime.destroy_error =
      Error{Code::kDeadlineExceeded, "removal_takes_long", "its files are still being removed"};
  EXPECT_EQ(run(core->sandboxes().remove(alice, "box")).error().reason, "removal_takes_long");
  const auto row = run(core->sandboxes().get(alice, "box"));
  EXPECT_EQ(row->state, SandboxState::kDeleting);
  EXPECT_EQ(row->reason, "is being removed: its files are still being removed");
  runtime.destroy_error.reset();
  clock.advance(std::chrono::seconds(30));
  core->timers().sweep();
  drain();
  expect_nothing_left();
  EXPECT_EQ(store.journal.back().reason, "") << "it was asked for";
}

TEST_F(LifecycleTest, ADeletionThatWasAskedForHasNoReasonOfAnother) {
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  store.rows.at(id).reason = kStoppedIdle;
  core->registry().by_id(id)->row.reason = kStoppedIdle;
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "box")));
  EXPECT_EQ(store.journal.back().type, "sandbox.deleted");
  EXPECT_EQ(store.journal.back().reason, "");
}

TEST_F(LifecycleTest, ADeletionIsANormalEndForReaders) {
  runtime.box(id).fake_commands().program = [](const CommandSpec&) {
    return testing::FakeProgram{};
  };
  auto reader = run(core->commands().run(alice, "box", command("c")));
  ASSERT_TRUE(reader);
  auto pending = begin((*reader)->next());
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "box")));
  const auto event = finish(pending);
  ASSERT_TRUE(event && std::holds_alternative<OutputEnd>(*event));
  EXPECT_EQ(std::get<OutputEnd>(*event).command.end.by, "sandbox removal");
}

TEST_F(LifecycleTest, DeathIsSeenInTheRowAndByReaders) {
  runtime.box(id).fake_commands().program = [](const CommandSpec&) {
    return testing::FakeProgram{};
  };
  auto reader = run(core->commands().run(alice, "box", command("c")));
  ASSERT_TRUE(reader);
  auto pending = begin((*reader)->next());
  runtime.die(id, "keeper lost");
  EXPECT_EQ(finish(pending).error().code, Code::kLost);
  const auto got = run(core->sandboxes().get(alice, "box"));
  EXPECT_EQ(got->state, SandboxState::kFailed);
  EXPECT_EQ(got->reason, "keeper lost");
  EXPECT_EQ(runtime.stops.size(), 1U);  // what it left is swept up
  const auto refused = run(core->commands().start(alice, "box", command("d")));
  EXPECT_EQ(refused.error().reason, "sandbox_not_ready");
  EXPECT_NE(refused.error().message.find("keeper lost"), std::string::npos);
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  drain();
  EXPECT_TRUE(run(core->commands().start(alice, "box", command("d"))));
}

TEST_F(LifecycleTest, StopOfAFailedOneMakesItStopped) {
  runtime.die(id, "keeper lost");
  drain();
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

TEST_F(LifecycleTest, UpdateRenamesMergesAndKeepsTheId) {
  ASSERT_TRUE(create("other"));
  SandboxPatch patch;
  patch.name = "other";
  EXPECT_EQ(run(core->sandboxes().update(alice, "box", patch)).error().reason, "name_in_use");
  patch.name = "renamed";
  patch.run = RunConfig{.user = "user", .workdir = {}, .env = {{"A", "1"}}};
  patch.memory_bytes = 1ull << 30;
  const auto got = run(core->sandboxes().update(alice, "box", patch));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->id, id);
  EXPECT_EQ(run(core->sandboxes().get(alice, "box")).error().reason, "sandbox_not_found");
  EXPECT_EQ(run(core->sandboxes().get(alice, "renamed"))->run.env.at("A"), "1");
  // Limits count from the next start.
  EXPECT_EQ(runtime.boots.at(0).limits.memory_bytes, 2ull << 30);
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "renamed")));
  ASSERT_TRUE(run(core->sandboxes().start(alice, "renamed")));
  drain();
  EXPECT_EQ(runtime.boots.back().limits.memory_bytes, 1ull << 30);
}

TEST_F(LifecycleTest, AnotherTenantsSandboxDoesNotExist) {
  EXPECT_EQ(run(core->sandboxes().get(bob, "box")).error().reason, "sandbox_not_found");
  EXPECT_EQ(run(core->sandboxes().get(bob, id.get())).error().reason, "sandbox_not_found");
  EXPECT_EQ(run(core->sandboxes().remove(bob, id.get())).error().reason, "sandbox_not_found");
  EXPECT_EQ(run(core->commands().start(bob, id.get(), command("c"))).error().reason,
            "sandbox_not_found");
  EXPECT_EQ(run(core->files().stat(bob, id.get(), "/", {}, true)).error().reason,
            "sandbox_not_found");
  EXPECT_TRUE(run(core->sandboxes().list(bob, SandboxQuery{}))->items.empty());
}

TEST_F(LifecycleTest, UsageCountsWhatRuns) {
  ASSERT_TRUE(create("other"));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "other")));
  const auto sum = run(core->usage().summary(alice));
  EXPECT_EQ(sum->running, 1U);
  EXPECT_EQ(sum->stopped, 1U);
  EXPECT_EQ(sum->snapshots, 1U);
  EXPECT_EQ(sum->memory_used_bytes, 2ull << 30);
  EXPECT_EQ(run(core->usage().summary(bob))->running, 0U);
}

TEST_F(LifecycleTest, StatsWakeNothing) {
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  EXPECT_EQ(run(core->inspection().stats(alice, "box"))->memory_bytes, 0U);
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

class CloseTest : public LifecycleTest {};

TEST_F(CloseTest, LeavesSandboxesAliveUnlessAsked) {
  ASSERT_TRUE(run(core->close(false)));
  EXPECT_EQ(runtime.alive.size(), 1U);
  EXPECT_EQ(create("late").error().reason, "shutting_down");
  core.reset();
}

TEST_F(CloseTest, StopsThemWhenAsked) {
  ASSERT_TRUE(run(core->close(true)));
  EXPECT_TRUE(runtime.alive.empty());
  EXPECT_EQ(store.rows.at(id).state, SandboxState::kStopped);
  core.reset();
}

TEST_F(CloseTest, GivesUpBootsUnderWay) {
  runtime.hold_boots = true;
  auto pending = begin(core->sandboxes().create(alice, named("late"), CreateOptions{}));
  ASSERT_TRUE(run(core->close(false)));
  EXPECT_EQ(finish(pending).error().reason, "shutting_down");
  EXPECT_EQ(store.rows.size(), 1U);
  core.reset();
}

TEST_F(CloseTest, LetsComeUpWhatIsComingUp) {
  config.timing.last_boots = std::chrono::seconds(30);
  ASSERT_TRUE(open());
  runtime.hold_boots = true;
  auto pending = begin(core->sandboxes().create(alice, named("late"), CreateOptions{}));
  auto closing = begin(core->close(false));
  EXPECT_FALSE(pending->done());
  runtime.release_boots();
  EXPECT_TRUE(finish(pending));
  EXPECT_TRUE(finish(closing));
  EXPECT_EQ(runtime.alive.size(), 2U);
  core.reset();
}

TEST_F(CloseTest, AStartThatItEndsLeavesItStopped) {
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  runtime.hold_boots = true;
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  ASSERT_TRUE(run(core->close(false)));
  EXPECT_EQ(store.rows.at(id).state, SandboxState::kStopped)
      << "it did not fail: a request wakes it";
  runtime.release_boots();
  ASSERT_TRUE(open());
  EXPECT_TRUE(run(core->files().stat(alice, "box", "/", {}, true)));
}

TEST_F(CloseTest, ACreationThatWasAnsweredIsMadeByTheNextDaemon) {
  runtime.hold_boots = true;
  const auto made = create("late", {.wait_for_ready = false});
  ASSERT_TRUE(made);
  ASSERT_TRUE(run(core->close(false)));
  EXPECT_EQ(store.rows.at(made->id).state, SandboxState::kProvisioning);
  EXPECT_EQ(**store.get_meta("creating"), made->id.get());
  runtime.release_boots();
  ASSERT_TRUE(open());
  drain();
  EXPECT_EQ(state("late"), SandboxState::kReady);
  EXPECT_TRUE(runtime.alive.contains(made->id));
  EXPECT_EQ(**store.get_meta("creating"), "");
}

TEST_F(CloseTest, ACreationThatFailedOrWasDeletedIsNotMadeAgain) {
  runtime.boot_error = Error{Code::kInternal, "broken", "broken", 0};
  ASSERT_TRUE(create("failed", {.wait_for_ready = false}));
  drain();
  EXPECT_EQ(state("failed"), SandboxState::kFailed);
  runtime.boot_error.reset();
  runtime.hold_boots = true;
  ASSERT_TRUE(create("deleted", {.wait_for_ready = false}));
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "deleted")));
  EXPECT_EQ(**store.get_meta("creating"), "");
  runtime.release_boots();
  drain();
  ASSERT_TRUE(open());
  drain();
  EXPECT_EQ(state("failed"), SandboxState::kFailed);
  EXPECT_EQ(run(core->sandboxes().get(alice, "deleted")).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace cay::core
