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
  EXPECT_EQ(run(core->sandboxes().get(alice, "box"))->reason, kStoppedIdle);
  pass(seconds(3599));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  pass(seconds(1));
  expect_nothing_left();
}

TEST_F(TimersTest, AnIdleStopSaysSoWhileItIsUnderWayAndNoLongerThanItLasts) {
  runtime.hold_stops = true;
  pass(seconds(600));
  EXPECT_EQ(**store.get_meta("stopping"), id.get() + "=idle");
  runtime.die(id,
              "its keeper ended");  // the stop's work: that it is not over yet is nobody's failure
  EXPECT_EQ(run(core->sandboxes().get(alice, "box"))->reason, kStoppedIdle);
  runtime.release_stops();
  drain();
  ASSERT_TRUE(run(core->files().stat(alice, "box", "/", {}, true)));
  EXPECT_EQ(run(core->sandboxes().get(alice, "box"))->reason, "") << "it runs";
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  EXPECT_EQ(run(core->sandboxes().get(alice, "box"))->reason, "") << "that was asked for";
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
  ASSERT_TRUE(run(core->inspection().stats(alice, "box")));
  ASSERT_TRUE(run(core->sandboxes().list(alice, SandboxQuery{})));
  pass(seconds(100));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

TEST_F(TimersTest, AReaderKeepsItAwakeAndItsEndStartsTheIdleTime) {
  runtime.box(id).fake_commands().program = [](const CommandSpec&) {
    return testing::FakeProgram{};
  };
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
  runtime.box(id).fake_commands().program = [](const CommandSpec&) {
    return testing::FakeProgram{};
  };
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
    asio::co_spawn(loop, entry->turn.lock(),
                   [&](std::exception_ptr, Mutex::Guard got) { lock = std::move(got); });
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

TEST_F(TimersTest, ASettingOfTheClockNeitherStopsNorKeepsIt) {
  for (const auto jump : {hours(24 * 3650), -hours(24 * 3650)}) {
    clock.set_wall_by(jump);
    pass(seconds(0));
    EXPECT_EQ(state("box"), SandboxState::kReady);
  }
  clock.set_wall_by(-hours(48));
  pass(seconds(599));
  EXPECT_EQ(state("box"), SandboxState::kReady);
  pass(seconds(1));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  clock.set_wall_by(hours(24 * 3650));
  pass(seconds(3599));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  clock.set_wall_by(-hours(24 * 3650));
  pass(seconds(1));
  expect_nothing_left();
}

TEST_F(TimersTest, NorDoesOneWhileTheDaemonIsAway) {
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  for (const auto jump : {hours(24 * 3650), -hours(24 * 7300)}) {
    clock.set_wall_by(jump);
    ASSERT_TRUE(run(core->close(false)));
    ASSERT_TRUE(open());
    pass(seconds(10));
    EXPECT_EQ(state("box"), SandboxState::kStopped);
  }
  pass(seconds(3580));
  expect_nothing_left();
}

TEST_F(TimersTest, TheTimeAHostWasOffCountsOnceItIsUpForAnHour) {
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  SandboxPatch patch;
  patch.delete_after_stop_s = 7200;
  ASSERT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
  drain();
  clock.reboot(seconds(3500));
  ASSERT_TRUE(run(core->close(false)));
  ASSERT_TRUE(open());
  pass(seconds(3698));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  pass(seconds(2));
  expect_nothing_left();
}

TEST_F(TimersTest, WhatIsDueAtABootIsDeletedAfterItsFirstHour) {
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  clock.reboot(seconds(3600));
  ASSERT_TRUE(run(core->close(false)));
  ASSERT_TRUE(open());
  pass(seconds(3598));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  pass(seconds(2));
  expect_nothing_left();
}

TEST_F(TimersTest, AHostThatBootsIn1970DeletesNothingEarlyAndAllInTime) {
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  pass(seconds(1000));
  clock.reboot(hours(100), 0);
  ASSERT_TRUE(run(core->close(false)));
  ASSERT_TRUE(open());
  pass(seconds(2000));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  clock.set_wall_by(hours(24 * 365 * 56));  // the time service
  pass(seconds(0));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  pass(seconds(1600));
  expect_nothing_left();
}

TEST_F(TimersTest, AHostThatBootsInTheFutureDeletesNothingInItsFirstHour) {
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  clock.reboot(hours(24 * 20));  // it was off for a minute
  ASSERT_TRUE(run(core->close(false)));
  ASSERT_TRUE(open());
  pass(seconds(3000));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  clock.set_wall_by(seconds(60) - hours(24 * 20));  // the time service
  pass(seconds(530));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  pass(seconds(80));
  expect_nothing_left();
}

TEST_F(TimersTest, ACorrectionThatNoDaemonSawDeletesNothing) {
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  clock.reboot(hours(24 * 20));  // it was off for a minute
  ASSERT_TRUE(run(core->close(false)));
  ASSERT_TRUE(open());
  pass(seconds(30));
  clock.set_wall_by(seconds(60) -
                    hours(24 * 20));  // the time service, and the daemon is killed before it looks
  ASSERT_TRUE(open());
  pass(seconds(3500));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  pass(seconds(20));  // due, but the host is not up for an hour
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  pass(seconds(60));
  expect_nothing_left();
}

TEST_F(TimersTest, AClockInLocalTimeDeletesNothingEarly) {
  SandboxPatch patch;
  patch.delete_after_stop_s = 5400;
  ASSERT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  clock.reboot(hours(2));  // off for a minute, by a battery clock two hours ahead
  ASSERT_TRUE(run(core->close(false)));
  ASSERT_TRUE(open());
  pass(seconds(1800));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  clock.set_wall_by(seconds(60) - hours(2));
  pass(seconds(3500));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  pass(seconds(60));
  expect_nothing_left();
}

TEST_F(TimersTest, AHostThatWasOffForLongDeletesAfterItsFirstHour) {
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  clock.reboot(hours(24 * 20));
  ASSERT_TRUE(run(core->close(false)));
  ASSERT_TRUE(open());
  pass(seconds(3590));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  pass(seconds(10));
  expect_nothing_left();
}

TEST_F(TimersTest, AChangeCountsAtOnce) {
  pass(seconds(300));
  SandboxPatch patch;
  patch.idle_ttl_s = 1000;
  ASSERT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
  EXPECT_EQ(core->timers().next_due(), 700'000);
  pass(seconds(699));
  EXPECT_EQ(state("box"), SandboxState::kReady);
  patch.idle_ttl_s = 60;
  ASSERT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
  pass(seconds(0));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  SandboxPatch sooner;
  sooner.delete_after_stop_s = 60;
  ASSERT_TRUE(run(core->sandboxes().update(alice, "box", sooner)));
  pass(seconds(59));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  pass(seconds(1));
  expect_nothing_left();
}

TEST_F(TimersTest, ALifetimeEndsWhateverItDoes) {
  SandboxPatch patch;
  patch.lifetime_s = 3600;
  ASSERT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
  runtime.box(id).fake_commands().program = [](const CommandSpec&) {
    return testing::FakeProgram{};
  };
  auto reader = run(core->commands().run(alice, "box", command("c")));
  pass(seconds(3599));
  EXPECT_EQ(state("box"), SandboxState::kReady);
  pass(seconds(1));
  reader->reset();
  expect_nothing_left();
}

TEST_F(TimersTest, WhatATimerDeletesTellsWhyWhateverHoldsItUp) {
  const auto told = [&] {
    std::vector<std::string> out;
    for (const auto& event : store.journal) {
      if (event.type.starts_with("sandbox.delet")) out.push_back(event.type + " " + event.reason);
    }
    return out;
  };
  SandboxPatch patch;
  patch.lifetime_s = 3600;
  ASSERT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  runtime.destroy_error = Error{Code::kUnavailable, "launcher_unavailable", "no launcher"};
  patch.delete_after_stop_s = 1800;
  ASSERT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
  pass(seconds(1800));
  EXPECT_EQ(run(core->sandboxes().get(alice, "box"))->reason,
            "delete_after_stop: could not be removed yet: no launcher");
  pass(seconds(1800));  // its lifetime ends: it went for another reason
  ASSERT_TRUE(open());
  EXPECT_EQ(run(core->sandboxes().get(alice, "box"))->reason,
            "delete_after_stop: could not be removed yet: no launcher")
      << "once, not again and again";
  runtime.destroy_error.reset();
  EXPECT_TRUE(run(core->sandboxes().remove(alice, "box")));
  expect_nothing_left();
  EXPECT_EQ(told(), (std::vector<std::string>{"sandbox.deleting delete_after_stop",
                                              "sandbox.deleted delete_after_stop"}));
}

TEST_F(TimersTest, WhicheverIsDueFirstIsWhyItWent) {
  SandboxPatch patch;
  patch.lifetime_s = 700;
  ASSERT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
  pass(seconds(600));  // idle: stopped, with a reason of its own
  pass(seconds(100));
  expect_nothing_left();
  EXPECT_EQ(store.journal.back().type, "sandbox.deleted");
  EXPECT_EQ(store.journal.back().reason, "lifetime");
}

TEST_F(TimersTest, ALifetimeOutlivesARestartAndAStop) {
  SandboxPatch patch;
  patch.lifetime_s = 3000;
  patch.delete_after_stop_s = 0;
  ASSERT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  clock.advance(seconds(2000));
  ASSERT_TRUE(run(core->close(false)));
  ASSERT_TRUE(open());
  EXPECT_EQ(core->timers().next_due(), 1'000'000);
  pass(seconds(1000));
  expect_nothing_left();
}

TEST_F(TimersTest, RunningCommandsKeepItAwakeIfAskedTo) {
  SandboxPatch patch;
  patch.commands_keep_awake = true;
  ASSERT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
  auto& numbers = runtime.box(id).numbers;
  numbers.quiet_ms = 0;
  for (int i = 0; i < 10; ++i) pass(seconds(600));
  EXPECT_EQ(state("box"), SandboxState::kReady);
  // Its idle time counts from the last command's end, not from when that was noticed.
  numbers.quiet_ms = 400'000;
  pass(seconds(600));
  EXPECT_EQ(state("box"), SandboxState::kReady);
  EXPECT_EQ(core->timers().next_due(), 200'000);
  numbers.quiet_ms = 600'000;
  pass(seconds(200));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

TEST_F(TimersTest, AskedToKeepAwakeItStillStopsWhereNothingEverRan) {
  SandboxPatch patch;
  patch.commands_keep_awake = true;
  ASSERT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
  pass(seconds(600));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

}  // namespace
}  // namespace cay::core
