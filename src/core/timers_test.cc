#include "core/core_fixture.h"

namespace cay::core {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

class TimersTest : public CoreTest {
 protected:
  TimersTest() {
    EXPECT_TRUE(open());
    SandboxSpec spec = named("box");
    spec.idle_ttl_s = 600;
    spec.delete_after_stop_s = 3600;
    id = run(core->sandboxes().create(alice, std::move(spec), CreateOptions{}))->id;
  }
  void pass(milliseconds time) {
    clock.advance(time);
    core->timers().sweep();
    drain();
  }
  SandboxId id;
};

TEST_F(TimersTest, StopsAfterTheIdleTimeAndDeletesAfterTheStop) {
  pass(seconds(599));
  EXPECT_EQ(state("box"), SandboxState::kReady);
  pass(seconds(1));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  pass(seconds(3599));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  pass(seconds(1));
  expect_nothing_left();
}

TEST_F(TimersTest, UseStartsTheIdleTimeAnew) {
  pass(seconds(500));
  ASSERT_TRUE(run(core->files().stat(alice, "box", "/", {}, true)));
  pass(seconds(599));
  EXPECT_EQ(state("box"), SandboxState::kReady);
  pass(seconds(1));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

TEST_F(TimersTest, LookingIsNotUsing) {
  pass(seconds(500));
  ASSERT_TRUE(run(core->sandboxes().get(alice, "box")));
  ASSERT_TRUE(run(core->sandboxes().stats(alice, "box")));
  ASSERT_TRUE(run(core->sandboxes().list(alice, SandboxQuery{})));
  pass(seconds(100));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

TEST_F(TimersTest, AReaderKeepsItAwakeAndItsEndStartsTheIdleTime) {
  runtime.box(id).fake_commands().program = [](const CommandSpec&) { return testing::FakeProgram{}; };
  auto reader = run(core->commands().run(alice, "box", command("c")));
  pass(hours(5));
  EXPECT_EQ(state("box"), SandboxState::kReady);
  // Its use is written meanwhile: a crash now does not make it look idle for hours.
  EXPECT_EQ(store.rows.at(id).last_active_at, clock.wall());
  reader->reset();
  pass(seconds(599));
  EXPECT_EQ(state("box"), SandboxState::kReady);
  pass(seconds(1));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

TEST_F(TimersTest, AnOpenDownloadKeepsItAwake) {
  runtime.box(id).fake_files().put("/a", "x");
  auto stream = run(core->files().read(alice, "box", "/a", {}, {}));
  pass(hours(1));
  EXPECT_EQ(state("box"), SandboxState::kReady);
}

TEST_F(TimersTest, ABackgroundCommandWithoutReadersDoesNot) {
  runtime.box(id).fake_commands().program = [](const CommandSpec&) { return testing::FakeProgram{}; };
  ASSERT_TRUE(run(core->commands().start(alice, "box", command("c"))));
  pass(seconds(600));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  EXPECT_EQ(run(core->commands().get(alice, "box", CommandId("c")))->end.by, "sandbox stop");
}

TEST_F(TimersTest, UseBetweenDueAndStopKeepsItRunning) {
  clock.advance(seconds(600));
  auto entry = core->registry().by_id(id);
  {
    // Somebody else has the turn when the idle stop becomes due.
    std::optional<Mutex::Guard> lock;
    asio::co_spawn(loop, entry->turn.lock(), [&](std::exception_ptr, Mutex::Guard got) { lock = std::move(got); });
    drain();
    core->timers().sweep();
    drain();
    core->registry().touch(*entry);
  }
  drain();
  EXPECT_TRUE(runtime.stops.empty());
  EXPECT_EQ(state("box"), SandboxState::kReady);
}

TEST_F(TimersTest, ZeroMeansNever) {
  SandboxPatch patch;
  patch.idle_ttl_s = 0;
  patch.delete_after_stop_s = 0;
  ASSERT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
  pass(hours(24 * 365));
  EXPECT_EQ(state("box"), SandboxState::kReady);
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  pass(hours(24 * 365));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

TEST_F(TimersTest, SleepsUntilTheNextIsDue) {
  EXPECT_EQ(core->timers().next_due(), 600'000);
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  EXPECT_EQ(core->timers().next_due(), 3'600'000);
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "box")));
  EXPECT_EQ(core->timers().next_due(), std::nullopt);
}

TEST_F(TimersTest, AStopThatFailsIsTriedAgainLaterNotAtOnce) {
  runtime.stop_error = Error{Code::kUnavailable, "launcher_unavailable", "no launcher"};
  pass(seconds(600));
  pass(seconds(1));
  EXPECT_EQ(runtime.stops.size(), 1U);
  EXPECT_GE(*core->timers().next_due(), 28'000);
  EXPECT_FALSE(warnings.empty());
  runtime.stop_error.reset();
  pass(seconds(30));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

TEST_F(TimersTest, UseIsWrittenAtMostEveryHalfMinute) {
  const UnixMillis before = store.rows.at(id).last_active_at;
  clock.advance(seconds(10));
  ASSERT_TRUE(run(core->files().stat(alice, "box", "/", {}, true)));
  EXPECT_EQ(store.rows.at(id).last_active_at, before);
  EXPECT_EQ(run(core->sandboxes().get(alice, "box"))->last_active_at, clock.wall());
  clock.advance(seconds(20));
  ASSERT_TRUE(run(core->files().stat(alice, "box", "/", {}, true)));
  EXPECT_EQ(store.rows.at(id).last_active_at, clock.wall());
}

TEST_F(TimersTest, TheyOutliveARestart) {
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  clock.advance(seconds(3000));
  ASSERT_TRUE(run(core->close(false)));
  ASSERT_TRUE(open());
  pass(seconds(599));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  pass(seconds(1));
  expect_nothing_left();
}

TEST_F(TimersTest, ARestartGivesReadersAMinuteToComeBack) {
  clock.advance(hours(2));
  ASSERT_TRUE(run(core->close(false)));
  ASSERT_TRUE(open());
  pass(seconds(59));
  EXPECT_EQ(state("box"), SandboxState::kReady);
  pass(seconds(1));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

}  // namespace
}  // namespace cay::core
