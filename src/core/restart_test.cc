// The matrix of README.md: a row's state, and whether something lives, when the daemon starts.
#include "core/core_fixture.h"

namespace cay::core {
namespace {

class RestartTest : public CoreTest {
 protected:
  SandboxId put(SandboxState state, bool alive, bool ran_before = false) {
    Sandbox row;
    row.id = SandboxId(new_uuid());
    row.tenant = alice.tenant;
    row.name = "box";
    row.state = state;
    row.limits = config.defaults.limits;
    if (ran_before) row.stopped_at = 1;
    store.rows[row.id] = row;
    runtime.put_alive(row.id);  // makes its disk
    if (!alive) runtime.alive.erase(row.id);
    return row.id;
  }
};

TEST_F(RestartTest, ReadyAndAliveIsTakenBackWithItsCommands) {
  const SandboxId id = put(SandboxState::kReady, true);
  runtime.box(id).fake_commands().program = [](const CommandSpec&) {
    return testing::FakeProgram{};
  };
  ASSERT_TRUE(runtime.box(id).fake_commands().start(command("c")));
  ASSERT_TRUE(open());
  EXPECT_EQ(state("box"), SandboxState::kReady);
  EXPECT_EQ(runtime.known_at_adopt, std::vector<SandboxId>{id});
  EXPECT_EQ(run(core->commands().get(alice, "box", CommandId("c")))->end.state,
            CommandState::kRunning);
  EXPECT_EQ(run(core->usage().summary(alice))->memory_used_bytes,
            config.defaults.limits.memory_bytes);
}

TEST_F(RestartTest, ItMovesNoTimer) {
  ASSERT_TRUE(open());
  SandboxSpec spec = named("box");
  spec.idle_ttl_s = 0;
  ASSERT_TRUE(run(core->sandboxes().create(alice, spec, CreateOptions{})));
  const LifeMillis before = core->registry().time().now();
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(open());
    ASSERT_TRUE(run(core->sandboxes().pause(alice, "box")));  // its row is written
    ASSERT_TRUE(run(core->sandboxes().resume(alice, "box")));
  }
  ASSERT_TRUE(open());
  EXPECT_EQ(core->registry().time().now(), before);
  // Nor does a mark that an older daemon put into the future.
  store.rows.begin()->second.marks.active = before + 60'000;
  ASSERT_TRUE(open());
  EXPECT_EQ(core->registry().time().now(), before);
}

TEST_F(RestartTest, NothingStopsForAMinuteNotEvenWhatIsUsed) {
  ASSERT_TRUE(open());
  SandboxSpec spec = named("box");
  spec.idle_ttl_s = 4;
  ASSERT_TRUE(run(core->sandboxes().create(alice, spec, CreateOptions{})));
  ASSERT_TRUE(open());
  ASSERT_TRUE(run(core->files().stat(alice, "box", "/", {}, true)));
  const auto pass = [&](Millis time) {
    clock.advance(time);
    core->timers().sweep();
    drain();
  };
  pass(Millis(59'999));
  EXPECT_EQ(state("box"), SandboxState::kReady);
  pass(Millis(1));
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

TEST_F(RestartTest, ReadyAndDeadIsFailedWithTheReason) {
  const SandboxId id = put(SandboxState::kReady, false);
  ASSERT_TRUE(open());
  const auto got = run(core->sandboxes().get(alice, "box"));
  EXPECT_EQ(got->state, SandboxState::kFailed);
  EXPECT_NE(got->reason.find("daemon was away"), std::string::npos);
  EXPECT_EQ(runtime.stops, std::vector<SandboxId>{id});
  EXPECT_TRUE(runtime.disks.contains(id));
}

TEST_F(RestartTest, AfterAHostRestartWhatRanIsStoppedUntilTheDaemonHasSeenToAll) {
  ASSERT_TRUE(open());
  const SandboxId id = put(SandboxState::kReady, false);
  runtime.boot_id = "boot-b";
  ASSERT_TRUE(open());
  const auto got = run(core->sandboxes().get(alice, "box"));
  EXPECT_EQ(got->state, SandboxState::kStopped);
  EXPECT_EQ(got->reason, kStoppedByHost);
  EXPECT_TRUE(got->stopped_at);
  EXPECT_TRUE(runtime.disks.contains(id));
  // The same boot again: what is gone now was lost.
  store.rows[id].state = SandboxState::kReady;
  ASSERT_TRUE(open());
  EXPECT_EQ(state("box"), SandboxState::kFailed);
}

TEST_F(RestartTest, WhatEndedWithItsContainerIsStopped) {
  ASSERT_TRUE(open());
  const SandboxId ran = put(SandboxState::kReady, false);
  const SandboxId paused = put(SandboxState::kPaused, false);
  store.rows[paused].name = "paused";
  config.init_life = "init-b";  // in the same boot of the host
  ASSERT_TRUE(open());
  for (const char* name : {"box", "paused"}) {
    const auto got = run(core->sandboxes().get(alice, name));
    EXPECT_EQ(got->state, SandboxState::kStopped) << name;
    EXPECT_EQ(got->reason, kStoppedByHost) << name;
  }
  // The same container again: what is gone now was lost.
  store.rows[ran].state = SandboxState::kReady;
  ASSERT_TRUE(open());
  EXPECT_EQ(state("box"), SandboxState::kFailed);
}

TEST_F(RestartTest, ADaemonInAnotherContainerThanItsKeepersTellsADeadOneApart) {
  ASSERT_TRUE(open());
  put(SandboxState::kReady, false);
  const SandboxId lives = put(SandboxState::kReady, true);
  store.rows[lives].name = "lives";
  config.init_life = "init-b";
  ASSERT_TRUE(open());
  EXPECT_EQ(state("box"), SandboxState::kFailed);
  EXPECT_EQ(state("lives"), SandboxState::kReady);
}

TEST_F(RestartTest, WhereNobodyCanTellOfTheContainerItIsAsBefore) {
  ASSERT_TRUE(open());
  const SandboxId id = put(SandboxState::kReady, false);
  config.init_life.clear();
  ASSERT_TRUE(open());
  EXPECT_EQ(state("box"), SandboxState::kFailed);
  // The earlier knowledge still counts.
  store.rows[id].state = SandboxState::kReady;
  config.init_life = "init-a";
  ASSERT_TRUE(open());
  EXPECT_EQ(state("box"), SandboxState::kFailed);
}

TEST_F(RestartTest, AfterAHostRestartALostDiskIsSaid) {
  ASSERT_TRUE(open());
  std::vector<SandboxId> ids;
  for (const auto state : {SandboxState::kReady, SandboxState::kStopped, SandboxState::kPaused}) {
    ids.push_back(put(state, false, state == SandboxState::kStopped));
    store.rows[ids.back()].name = "box-" + std::to_string(ids.size());
    runtime.disks.erase(ids.back());
  }
  const SandboxId kept = put(SandboxState::kReady, false);
  runtime.boot_id = "boot-b";
  ASSERT_TRUE(open());
  for (const SandboxId& id : ids) {
    EXPECT_EQ(store.rows[id].state, SandboxState::kFailed);
    EXPECT_NE(store.rows[id].reason.find("disk"), std::string::npos) << store.rows[id].reason;
  }
  EXPECT_EQ(store.rows[kept].state, SandboxState::kStopped);
  for (const auto* name : {"box-1", "box-2", "box-3"})
    ASSERT_TRUE(run(core->sandboxes().remove(alice, name))) << name;
}

// A keeper that hangs holds up neither the daemon's start nor the others. It is queried until it
// answers.
TEST_F(RestartTest, SilentKeepersHoldUpNobodyAndAreAskedAgain) {
  std::vector<SandboxId> ids;
  for (int i = 0; i < 5; ++i) {
    ids.push_back(put(SandboxState::kReady, true));
    store.rows[ids.back()].name = "box-" + std::to_string(i);
    runtime.box(ids.back()).silent = i < 4;
    runtime.box(ids.back()).numbers.paused = true;
  }
  const auto begun = std::chrono::steady_clock::now();
  ASSERT_TRUE(open());
  EXPECT_LT(std::chrono::steady_clock::now() - begun,
            std::chrono::milliseconds(1500));        // of 4 times 2 s
  EXPECT_EQ(state("box-0"), SandboxState::kReady);   // the row's state stands
  EXPECT_EQ(state("box-4"), SandboxState::kPaused);  // the kernel's word
  for (const SandboxId& id : ids) runtime.box(id).silent = false;
  const auto limit = begun + std::chrono::seconds(20);
  while (state("box-3") != SandboxState::kPaused && std::chrono::steady_clock::now() < limit)
    loop.run_one_for(std::chrono::milliseconds(50));
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(state("box-" + std::to_string(i)), SandboxState::kPaused) << i;
}

TEST_F(RestartTest, ProvisioningAndAliveIsReady) {
  put(SandboxState::kProvisioning, true);
  ASSERT_TRUE(open());
  EXPECT_EQ(state("box"), SandboxState::kReady);
}

TEST_F(RestartTest, TheWayOutIsAsTheLauncherKnowsIt) {
  const SandboxId id = put(SandboxState::kProvisioning, true);
  runtime.box(id).way_out = SandboxNetwork{NetworkState::kOn, ""};
  ASSERT_TRUE(open());
  EXPECT_EQ(run(core->sandboxes().get(alice, "box"))->network.state, NetworkState::kOn);
  EXPECT_EQ(store.rows.at(id).network.state, NetworkState::kOn);
  // Its creator did not report it: it stays as it was.
  runtime.box(id).way_out.reset();
  ASSERT_TRUE(open());
  EXPECT_EQ(run(core->sandboxes().get(alice, "box"))->network.state, NetworkState::kOn);
}

TEST_F(RestartTest, ProvisioningForTheFirstTimeAndDeadLeavesNothing) {
  put(SandboxState::kProvisioning, false);
  ASSERT_TRUE(open());
  expect_nothing_left();
  for (const auto& event : store.journal) EXPECT_EQ(event.reason, "never came up") << event.type;
  EXPECT_EQ(store.journal.back().type, "sandbox.deleted");
}

TEST_F(RestartTest, ProvisioningForTheFirstTimeAndAnsweredForIsMadeAnew) {
  const SandboxId id = put(SandboxState::kProvisioning, false);
  const SandboxId up = put(SandboxState::kProvisioning, true);
  store.rows[up].name = "up";
  ASSERT_TRUE(store.put_meta("creating", id.get() + " " + up.get() + " " + new_uuid()));
  ASSERT_TRUE(open());
  drain();
  EXPECT_EQ(state("box"), SandboxState::kReady);
  EXPECT_EQ(state("up"), SandboxState::kReady);
  EXPECT_EQ(runtime.boots.size(), 1U);
  EXPECT_EQ(**store.get_meta("creating"), "");
}

TEST_F(RestartTest, StartingAgainAndDeadIsStoppedAndKeepsTheDisk) {
  const SandboxId id = put(SandboxState::kProvisioning, false, true);
  ASSERT_TRUE(open());
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  EXPECT_TRUE(runtime.disks.contains(id));
}

TEST_F(RestartTest, StoppedButAliveIsStopped) {
  put(SandboxState::kStopped, true, true);
  ASSERT_TRUE(open());
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  EXPECT_TRUE(runtime.alive.empty());
}

TEST_F(RestartTest, AStopThatAKilledDaemonHadBegunGoesOn) {
  const SandboxId id = put(SandboxState::kReady, true);
  const SandboxId other = put(SandboxState::kPaused, true);
  store.rows[other].name = "other";
  ASSERT_TRUE(store.put_meta("stopping", id.get() + " " + new_uuid()));
  runtime.hold_stops = true;
  ASSERT_TRUE(open());
  EXPECT_EQ(runtime.stops, std::vector<SandboxId>{id});
  EXPECT_EQ(**store.get_meta("stopping"), id.get());
  runtime.release_stops();
  drain();
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  EXPECT_EQ(run(core->sandboxes().get(alice, "box"))->reason, "");
  EXPECT_TRUE(runtime.alive.contains(other));
  EXPECT_EQ(**store.get_meta("stopping"), "");
}

TEST_F(RestartTest, WhyItIsBeingStoppedOutlivesTheDaemon) {
  const SandboxId id = put(SandboxState::kReady, true);
  const SandboxId gone = put(SandboxState::kReady, false);
  store.rows[gone].name = "gone";
  ASSERT_TRUE(store.put_meta("stopping", id.get() + "=idle " + gone.get() + "=drained"));
  ASSERT_TRUE(open());
  drain();
  EXPECT_EQ(run(core->sandboxes().get(alice, "box"))->reason, kStoppedIdle);
  EXPECT_EQ(run(core->sandboxes().get(alice, "gone"))->reason, kStoppedByDrain);
  EXPECT_EQ(**store.get_meta("stopping"), "");
}

TEST_F(RestartTest, WhatEndedInAStopThatNobodySawIsStopped) {
  const SandboxId id = put(SandboxState::kReady, false);
  ASSERT_TRUE(store.put_meta("stopping", id.get()));
  ASSERT_TRUE(open());
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  EXPECT_TRUE(run(core->sandboxes().get(alice, "box"))->stopped_at);
  EXPECT_EQ(**store.get_meta("stopping"), "");
}

TEST_F(RestartTest, StoppedStaysStopped) {
  put(SandboxState::kStopped, false, true);
  ASSERT_TRUE(open());
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  EXPECT_TRUE(runtime.stops.empty());
}

TEST_F(RestartTest, FailedButAliveStaysFailedAndStopsRunning) {
  put(SandboxState::kFailed, true, true);
  ASSERT_TRUE(open());
  EXPECT_EQ(state("box"), SandboxState::kFailed);
  EXPECT_TRUE(runtime.alive.empty());
}

TEST_F(RestartTest, AnsweredForAndNotToBeMadeAnewIsFailedWithWords) {
  const auto id = put(SandboxState::kProvisioning, false);
  ASSERT_TRUE(store.put_meta("creating", id.get()));
  runtime.destroy_error = Error{Code::kUnavailable, "launcher_unavailable", "no launcher", 0};
  ASSERT_TRUE(open());
  drain();
  EXPECT_EQ(state("box"), SandboxState::kFailed);
  EXPECT_NE(store.rows.at(id).reason.find("no launcher"), std::string::npos);
  EXPECT_EQ(**store.get_meta("creating"), "");
  runtime.destroy_error.reset();
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  drain();
  EXPECT_EQ(state("box"), SandboxState::kReady);
}

TEST_F(RestartTest, DeletingIsFinished) {
  put(SandboxState::kDeleting, true);
  ASSERT_TRUE(open());
  expect_nothing_left();
}

TEST_F(RestartTest, DeletingThatCannotBeFinishedIsTriedAgain) {
  put(SandboxState::kDeleting, false);
  runtime.destroy_error = Error{Code::kUnavailable, "launcher_unavailable", "no launcher"};
  ASSERT_TRUE(open());
  EXPECT_EQ(store.rows.size(), 1U);
  EXPECT_FALSE(warnings.empty());
  runtime.destroy_error.reset();
  clock.advance(std::chrono::seconds(31));
  core->timers().sweep();
  drain();
  expect_nothing_left();
}

TEST_F(RestartTest, EndsThatTakeLongHoldUpNobody) {
  std::vector<SandboxId> ids;
  for (const auto& [state, alive] : {std::pair(SandboxState::kStopped, true),
                                     {SandboxState::kReady, false},
                                     {SandboxState::kDeleting, true}}) {
    ids.push_back(put(state, alive));
    store.rows[ids.back()].name = "box-" + std::to_string(ids.size());
  }
  runtime.hold_stops = true;
  ASSERT_TRUE(open());
  EXPECT_EQ(state("box-1"), SandboxState::kStopped);
  EXPECT_EQ(state("box-2"), SandboxState::kFailed);
  EXPECT_EQ(state("box-3"), SandboxState::kDeleting);
  // A sandbox that is still ending is not started beside that.
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box-1")));
  drain();
  EXPECT_TRUE(runtime.boots.empty());
  runtime.release_stops();
  drain();
  EXPECT_EQ(state("box-1"), SandboxState::kReady);
  EXPECT_FALSE(store.rows.contains(ids[2]));
}

// The store was moved away or lost, and the disks are somebody's work.
TEST_F(RestartTest, ANewStoreBesideDisksDestroysNothing) {
  const SandboxId id = put(SandboxState::kStopped, false, true);
  store.rows.clear();
  for (int i = 0; i < 2; ++i) {
    const auto refused = open();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().reason, "store_is_new");
    EXPECT_TRUE(runtime.disks.contains(id));
    EXPECT_TRUE(runtime.destroys.empty());
  }
}

TEST_F(RestartTest, WhatNobodyOwnsIsDestroyed) {
  ASSERT_TRUE(open());  // a store that a daemon has begun on
  runtime.put_alive(SandboxId(new_uuid()));
  ASSERT_TRUE(open());
  expect_nothing_left();
}

TEST_F(RestartTest, SlotsOfWhatExistsAreCounted) {
  config.host.max_sandboxes = 1;
  put(SandboxState::kStopped, false, true);
  ASSERT_TRUE(open());
  EXPECT_EQ(create("other", {.wait_for_ready = false}).error().reason, "quota_sandboxes");
}

TEST_F(RestartTest, WhatRunsIsCountedAsItRunsThoughItsLimitsWereChanged) {
  config.capacity.memory_bytes = config.host.memory_reserve_bytes + (4ull << 30);
  config.host.memory_overcommit = 1.0;
  ASSERT_TRUE(open());
  SandboxSpec large = named("large");
  large.limits.memory_bytes = 3ull << 30;
  large.limits.cpu_millicores = 700;
  ASSERT_TRUE(run(core->sandboxes().create(alice, std::move(large), {})));
  SandboxPatch patch;
  patch.memory_bytes = 16ull << 20;
  patch.cpu_millicores = 100;
  ASSERT_TRUE(run(core->sandboxes().update(alice, "large", patch)));
  ASSERT_TRUE(open());
  const auto used = run(core->usage().summary(alice));
  EXPECT_EQ(used->memory_used_bytes, 3ull << 30);
  EXPECT_EQ(used->cpu_used_millicores, 700U);
  EXPECT_EQ(create("other", {.timeout = std::chrono::milliseconds(20)}).error().reason,
            "quota_memory")
      << "2 GiB are not left";
  EXPECT_NE(store.meta["limits_in_force"], "");
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "large")));
  EXPECT_EQ(store.meta["limits_in_force"], "");
  EXPECT_TRUE(create("other"));
}

TEST_F(RestartTest, AChangeThatCannotBeWrittenDownIsNone) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("box"));
  SandboxPatch patch;
  patch.memory_bytes = 16ull << 20;
  store.write_error = Error{Code::kUnavailable, "store_failed", "the disk is full", 0};
  EXPECT_FALSE(run(core->sandboxes().update(alice, "box", patch)));
  store.write_error.reset();
  EXPECT_TRUE(run(core->sandboxes().update(alice, "box", patch)));
  ASSERT_TRUE(open());
  EXPECT_EQ(run(core->usage().summary(alice))->memory_used_bytes,
            config.defaults.limits.memory_bytes);
}

TEST_F(RestartTest, SnapshotThatCannotBePreparedIsAnError) {
  runtime.prepare_error = Error{Code::kUnavailable, "launcher_unavailable", "no launcher"};
  EXPECT_EQ(open().error().reason, "launcher_unavailable");
}

TEST_F(RestartTest, DefaultIsTheSnapshotThatThisStartPrepared) {
  runtime.has_layers = false;  // such a runtime keeps older ones, which nobody can remove
  SnapshotInfo other = runtime.default_snapshot;
  other.id = SnapshotId(new_uuid());
  for (const UnixMillis created_at : {UnixMillis{0}, runtime.default_snapshot.created_at + 1}) {
    other.created_at = created_at;
    store.snapshot_rows[other.id] = other;
    ASSERT_TRUE(open());
    EXPECT_EQ(create("box" + std::to_string(created_at))->snapshot_id, runtime.default_snapshot.id)
        << created_at;
    SandboxSpec by_id = named("by-id" + std::to_string(created_at));
    by_id.snapshot = other.id.get();
    EXPECT_EQ(run(core->sandboxes().create(alice, by_id, CreateOptions{}))->snapshot_id, other.id);
    const auto all = run(core->snapshots().list(alice));
    ASSERT_EQ(all->size(), 2U);
    EXPECT_EQ(all->front().id, runtime.default_snapshot.id);
  }
}

}  // namespace
}  // namespace cay::core
