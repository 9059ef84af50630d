#include "core/core_fixture.h"

namespace cay::core {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

class PauseTest : public CoreTest {
 protected:
  PauseTest() {
    EXPECT_TRUE(open());
    SandboxSpec spec = named("box");
    spec.idle_ttl_s = 600;
    spec.delete_after_stop_s = 3600;
    id = run(core->sandboxes().create(alice, std::move(spec), CreateOptions{}))->id;
  }
  Result<Sandbox> pause() { return run(core->sandboxes().pause(alice, "box")); }
  Result<Sandbox> resume() { return run(core->sandboxes().resume(alice, "box")); }
  void pass(milliseconds time) {
    clock.advance(time);
    core->timers().sweep();
    drain();
  }
  void wait_for_state(SandboxState wanted) {
    for (int i = 0; i < 1000 && state("box") != wanted; ++i) {
      loop.restart();
      loop.run_for(milliseconds(10));
    }
    EXPECT_EQ(state("box"), wanted);
  }
  SandboxId id;
};

TEST_F(PauseTest, HoldsItStillAndLetsItGoOn) {
  EXPECT_EQ(pause()->state, SandboxState::kPaused);
  EXPECT_TRUE(runtime.box(id).numbers.paused);
  EXPECT_EQ(store.rows.at(id).state, SandboxState::kPaused);
  EXPECT_EQ(pause()->state, SandboxState::kPaused);  // again: as it is
  EXPECT_EQ(resume()->state, SandboxState::kReady);
  EXPECT_FALSE(runtime.box(id).numbers.paused);
  EXPECT_EQ(resume()->state, SandboxState::kReady);
  EXPECT_TRUE(runtime.stops.empty());
}

TEST_F(PauseTest, NothingNewRunsInItButWhatIsThereCanBeReadAndKilled) {
  runtime.box(id).fake_commands().program = [](const CommandSpec&) {
    return testing::FakeProgram{};
  };
  ASSERT_TRUE(run(core->commands().start(alice, "box", command("old"))));
  runtime.box(id).fake_files().put("/a", "x");
  ASSERT_TRUE(pause());
  const auto refused = run(core->commands().start(alice, "box", command("new")));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kNotReady);
  EXPECT_EQ(refused.error().reason, "sandbox_paused");
  EXPECT_TRUE(
      run(core->commands().start(alice, "box", command("old"))));  // get-or-create: it is there
  EXPECT_TRUE(run(core->commands().attach(alice, "box", CommandId("old"), {})));
  EXPECT_TRUE(run(core->commands().get(alice, "box", CommandId("old"))));
  EXPECT_TRUE(run(core->files().stat(alice, "box", "/a", {}, true)));
  EXPECT_TRUE(run(core->commands().kill(alice, "box", CommandId("old"), 0)));
  EXPECT_EQ(state("box"), SandboxState::kPaused);
}

TEST_F(PauseTest, AnAnswerThatDoesNotComeIsAskedFor) {
  runtime.box(id).fault =
      Error{Code::kUnavailable, "no_answer", "the keeper did not answer in time"};
  EXPECT_EQ(pause().error().reason, "no_answer");
  EXPECT_EQ(state("box"), SandboxState::kReady);
  runtime.box(id).numbers.paused = true;  // it happened all the same
  runtime.box(id).fault.reset();
  wait_for_state(SandboxState::kPaused);
  runtime.box(id).fault =
      Error{Code::kUnavailable, "no_answer", "the keeper did not answer in time"};
  EXPECT_EQ(resume().error().reason, "no_answer");
  runtime.box(id).numbers.paused = false;
  runtime.box(id).fault.reset();
  wait_for_state(SandboxState::kReady);
}

TEST_F(PauseTest, StartResumesIt) {
  ASSERT_TRUE(pause());
  EXPECT_EQ(run(core->sandboxes().start(alice, "box"))->state, SandboxState::kReady);
  EXPECT_FALSE(runtime.box(id).numbers.paused);
  EXPECT_EQ(runtime.boots.size(), 1U);
}

TEST_F(PauseTest, OnlyWhatRunsCanBePaused) {
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  EXPECT_EQ(pause().error().reason, "sandbox_not_ready");
  EXPECT_EQ(resume().error().reason, "sandbox_not_ready");
  EXPECT_EQ(run(core->sandboxes().pause(bob, "box")).error().reason, "sandbox_not_found");
}

TEST_F(PauseTest, CanBeStoppedAndDeleted) {
  ASSERT_TRUE(pause());
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  EXPECT_TRUE(run(core->sandboxes().get(alice, "box"))->stopped_at);
  ASSERT_TRUE(run(core->files().stat(alice, "box", "/", {}, true)));  // wakes
  ASSERT_TRUE(pause());
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "box")));
  expect_nothing_left();
}

TEST_F(PauseTest, AFailureLeavesItRunning) {
  runtime.box(id).pause_error = Error{Code::kDeadlineExceeded, "pause_timeout", "slow"};
  EXPECT_EQ(pause().error().reason, "pause_timeout");
  EXPECT_EQ(state("box"), SandboxState::kReady);
}

TEST_F(PauseTest, NoIdleTimePassesAndItBeginsAnewAtTheResume) {
  pass(seconds(500));
  ASSERT_TRUE(pause());
  pass(hours(24 * 30));
  EXPECT_EQ(state("box"), SandboxState::kPaused);
  ASSERT_TRUE(resume());
  pass(seconds(599));
  EXPECT_EQ(state("box"), SandboxState::kReady);
  pass(seconds(1));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

TEST_F(PauseTest, ItsLifetimeEndsAllTheSame) {
  SandboxPatch patch;
  patch.lifetime_s = 7200;
  ASSERT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
  ASSERT_TRUE(pause());
  pass(seconds(7200));
  expect_nothing_left();
}

TEST_F(PauseTest, SurvivesARestartOfTheDaemon) {
  ASSERT_TRUE(pause());
  ASSERT_TRUE(run(core->close(false)));
  ASSERT_TRUE(open());
  EXPECT_EQ(state("box"), SandboxState::kPaused);
  pass(hours(5));
  EXPECT_EQ(state("box"), SandboxState::kPaused);
  EXPECT_EQ(resume()->state, SandboxState::kReady);
}

TEST_F(PauseTest, ARestartBelievesTheKernelNotTheRow) {
  // The daemon ended between the deed and its record, both ways.
  runtime.box(id).numbers.paused = true;
  ASSERT_TRUE(run(core->close(false)));
  ASSERT_TRUE(open());
  EXPECT_EQ(state("box"), SandboxState::kPaused);
  runtime.box(id).numbers.paused = false;
  ASSERT_TRUE(run(core->close(false)));
  ASSERT_TRUE(open());
  EXPECT_EQ(state("box"), SandboxState::kReady);
}

TEST_F(PauseTest, ItsDeathIsAFailureLikeAnyOther) {
  ASSERT_TRUE(pause());
  runtime.die(id, "keeper lost");
  drain();
  EXPECT_EQ(state("box"), SandboxState::kFailed);
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  drain();
  EXPECT_EQ(state("box"), SandboxState::kReady);
}

TEST_F(PauseTest, WaitsForAStopUnderWay) {
  runtime.hold_stops = true;
  auto stop = begin(core->sandboxes().stop(alice, "box"));
  drain();
  auto late = begin(core->sandboxes().pause(alice, "box"));
  drain();
  runtime.release_stops();
  EXPECT_TRUE(finish(stop));
  EXPECT_EQ(finish(late).error().reason, "sandbox_not_ready");
}

}  // namespace
}  // namespace cay::core
