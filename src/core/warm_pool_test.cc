// The pool of sandboxes that are booted ahead: how many are kept, who gets one, and when they go.
#include "core/warm_pool.h"

#include <set>

#include "core/core_fixture.h"
#include "core/verbs/contents.h"
#include "core/verbs/drain.h"
#include "core/warm_demand.h"

namespace cay::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

BootSpec warm_kind(const std::string& policy) {
  BootSpec out;
  out.policy = policy;
  return out;
}

class WarmDemandTest : public ::testing::Test {
 protected:
  void created(const std::string& policy, int times = 1) {
    for (int i = 0; i < times; ++i) demand.created(warm_kind(policy), now);
  }
  std::map<std::string, std::uint32_t> wanted() {
    std::map<std::string, std::uint32_t> out;
    for (const auto& [one, count] : demand.wanted(now)) out[one.policy] = count;
    return out;
  }
  using Wanted = std::map<std::string, std::uint32_t>;

  WarmDemand demand{10};
  WarmDemand::Moment now{std::chrono::hours(1)};
};

TEST_F(WarmDemandTest, OneCreationIsNoHabit) {
  created("a");
  EXPECT_EQ(wanted(), Wanted{});
  now += minutes(5);
  created("a");
  EXPECT_EQ(wanted(), (Wanted{{"a", 1}}));
}

TEST_F(WarmDemandTest, KeepsWhatTenSecondsTookAndHalvesItEachMinute) {
  created("a", 4);
  now += seconds(9);
  created("a", 4);
  EXPECT_EQ(wanted(), (Wanted{{"a", 8}}));
  now += seconds(11);
  created("a");
  EXPECT_EQ(wanted(), (Wanted{{"a", 8}}));
  now += minutes(1);
  EXPECT_EQ(wanted(), (Wanted{{"a", 4}}));
  now += minutes(5);
  EXPECT_EQ(wanted(), (Wanted{{"a", 1}}));
  now += minutes(5);
  EXPECT_EQ(wanted(), Wanted{}) << "ten minutes after the last creation";
}

TEST_F(WarmDemandTest, SharesTheWholeByUse) {
  created("a", 30);
  EXPECT_EQ(wanted(), (Wanted{{"a", 10}}));
  created("b", 10);
  created("c", 2);
  const auto all = wanted();
  EXPECT_EQ(all.at("a"), 4U);
  EXPECT_EQ(all.at("b"), 4U);
  EXPECT_EQ(all.at("c"), 1U);
}

TEST_F(WarmDemandTest, ExpectsAndForgets) {
  demand.expect(warm_kind("a"), now);
  EXPECT_EQ(wanted(), (Wanted{{"a", 1}}));
  demand.forget(warm_kind("a"));
  EXPECT_EQ(wanted(), Wanted{});
}

TEST_F(WarmDemandTest, KnowsABoundedNumberOfKinds) {
  for (int i = 0; i < 200; ++i) {
    created(std::to_string(i), 2);
    now += milliseconds(1);
  }
  std::uint32_t sum = 0;
  for (const auto& [policy, count] : wanted()) sum += count;
  EXPECT_EQ(sum, 10U);
}

class WarmPoolTest : public CoreTest {
 protected:
  WarmPoolTest() { config.host.pool = 4; }

  // Runs the loop, with its timers, until `done` holds. Returns false after five seconds.
  bool until(const std::function<bool()>& done) {
    const auto end = std::chrono::steady_clock::now() + seconds(5);
    loop.restart();
    while (!done()) {
      if (std::chrono::steady_clock::now() > end) return false;
      loop.run_one_for(milliseconds(20));
      loop.restart();
    }
    drain();
    return true;
  }
  std::string metric(const std::string& line) {
    const std::string all = core->metrics().text();
    const auto at = all.find("\n" + line + " ");
    if (at == std::string::npos) return "";
    const auto begin = at + line.size() + 2;
    return all.substr(begin, all.find('\n', begin) - begin);
  }
  bool has_spares(int count) {
    return until([&] { return metric("cay_pool_spares") == std::to_string(count); });
  }
  // The ids of sandboxes that live and have no row.
  std::set<SandboxId> spares() {
    std::set<SandboxId> out;
    for (const auto& [id, box] : runtime.alive) {
      if (!store.rows.contains(id)) out.insert(id);
    }
    return out;
  }
  Result<Sandbox> make(SandboxSpec spec = {}) {
    return run(core->sandboxes().create(alice, std::move(spec), CreateOptions{}));
  }
};

TEST_F(WarmPoolTest, WithoutASettingNothingIsBootedAhead) {
  config.host.pool = 0;
  ASSERT_TRUE(open());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(make());
  const auto end = std::chrono::steady_clock::now() + milliseconds(60);
  until([&] { return std::chrono::steady_clock::now() > end; });
  EXPECT_EQ(runtime.boots.size(), 3U);
  EXPECT_EQ(metric("cay_pool_spares"), "");
}

TEST_F(WarmPoolTest, TheFirstCreationOfAllDefaultsTakesASpare) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(has_spares(1));
  const SandboxId id = *spares().begin();
  const std::string host_name = runtime.boots[0].hostname;
  EXPECT_TRUE(runtime.boots[0].run.env.empty());
  clock.advance(minutes(3));
  SandboxSpec spec;
  spec.labels["a"] = "b";
  spec.run.env["KEY"] = "value";
  const auto made = make(spec);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(runtime.boots.size(), 1U);
  EXPECT_EQ(made->id, id);
  EXPECT_EQ(made->name, host_name) << "the host name is the name";
  EXPECT_EQ(made->state, SandboxState::kReady);
  EXPECT_EQ(made->labels, spec.labels);
  EXPECT_EQ(made->run.env, spec.run.env);
  EXPECT_EQ(made->created_at, clock.wall());
  EXPECT_EQ(made->last_active_at, clock.wall());
  EXPECT_EQ(made->network.state, NetworkState::kOn);
  EXPECT_TRUE(run(core->commands().start(alice, made->name, command("one"))));
  EXPECT_EQ(metric("cay_pool_takes_total{outcome=\"spare\"}"), "1");
  ASSERT_TRUE(has_spares(1)) << "another one takes its place";
  EXPECT_FALSE(spares().contains(id));
}

TEST_F(WarmPoolTest, WhateverMakesABootSpecialIsBooted) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(has_spares(1));
  std::vector<SandboxSpec> all(7);
  all[0].name = "named";
  all[1].limits.pids = 99;
  all[2].policy = "off";
  all[3].tmpfs["/cache"] = 1 << 20;
  all[4].hidden_paths = {"/opt"};
  all[5].record_programs = true;
  all[6].policy = "a.test";
  for (const SandboxSpec& spec : all) {
    const auto before = spares();
    const auto made = make(spec);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_FALSE(before.contains(made->id));
  }
  EXPECT_EQ(metric("cay_pool_takes_total{outcome=\"spare\"}"), "0");
}

TEST_F(WarmPoolTest, NoSpareIsHandedOutTwice) {
  ASSERT_TRUE(open());
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(make());
  ASSERT_TRUE(has_spares(4)) << "no more than the setting";
  const auto were = spares();
  std::vector<std::shared_ptr<testing::Started<Sandbox>>> started;
  for (int i = 0; i < 20; ++i) {
    const Principal& who = i % 2 == 0 ? alice : bob;
    started.push_back(begin(core->sandboxes().create(who, {}, CreateOptions{})));
  }
  std::set<SandboxId> ids;
  std::size_t taken = 0;
  for (const auto& one : started) {
    const auto made = finish(one);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_TRUE(ids.insert(made->id).second);
    taken += were.contains(made->id) ? 1 : 0;
  }
  EXPECT_EQ(taken, 4U);
}

TEST_F(WarmPoolTest, ANameThatTheTenantHasIsNotGivenAgain) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(has_spares(1));
  const auto before = spares();
  ASSERT_TRUE(create(runtime.boots[0].hostname));
  const auto made = make();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_FALSE(before.contains(made->id));
  const auto others = run(core->sandboxes().create(bob, {}, CreateOptions{}));
  ASSERT_TRUE(others);
  EXPECT_TRUE(before.contains(others->id)) << "another tenant has not";
}

TEST_F(WarmPoolTest, ARequestThatNamesAPolicyGetsNoSpareWithoutAWayOut) {
  runtime.no_network = "no nf_tables";
  ASSERT_TRUE(open());
  ASSERT_TRUE(has_spares(1));
  SandboxSpec spec;
  spec.policy = "packages";
  EXPECT_EQ(make(spec).error().reason, "network_unsupported");
  const auto before = spares();
  const auto made = make();
  ASSERT_TRUE(made);
  EXPECT_TRUE(before.contains(made->id));
  EXPECT_EQ(made->network.state, NetworkState::kUnavailable);
}

TEST_F(WarmPoolTest, TheDeadAreNotHandedOut) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(has_spares(1));
  const SandboxId dead = *spares().begin();
  runtime.die(dead, "keeper lost");
  const auto made = make();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_NE(made->id, dead);
  drain();
  EXPECT_FALSE(runtime.disks.contains(dead));
}

TEST_F(WarmPoolTest, ADeathThatIsNotReportedYetIsSeenAtTheTaking) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(has_spares(1));
  const SandboxId dead = *spares().begin();
  runtime.box(dead).hung_up = true;
  const auto made = make();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_NE(made->id, dead);
  EXPECT_EQ(metric("cay_pool_removed_total{why=\"died\"}"), "1");
  drain();
  EXPECT_FALSE(runtime.disks.contains(dead));
  runtime.alive.erase(dead);
}

TEST_F(WarmPoolTest, ATakenSpareThatIsLostIsBootedAnew) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(has_spares(1));
  const SandboxId id = *spares().begin();
  runtime.box(id).fault = Error{Code::kLost, "keeper_lost", "the keeper is gone", 0};
  SandboxSpec spec;
  spec.run.workdir = "/made";
  const auto made = make(spec);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->id, id);
  EXPECT_EQ(made->state, SandboxState::kReady);
  ASSERT_GE(runtime.boots.size(), 2U);
  EXPECT_EQ(runtime.boots[1].id, id);
  EXPECT_EQ(runtime.boots[1].hostname, runtime.boots[0].hostname);
  EXPECT_EQ(runtime.destroys, std::vector{id}) << "what was left of the dead one is gone";
  EXPECT_TRUE(run(core->files().stat(alice, made->name, "/made", {}, true)));
}

TEST_F(WarmPoolTest, TheSecondDeathIsAFailure) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(has_spares(1));
  const SandboxId id = *spares().begin();
  runtime.box(id).fault = Error{Code::kLost, "keeper_lost", "the keeper is gone", 0};
  runtime.boot_error = Error{Code::kLost, "keeper_lost", "the keeper is gone", 0};
  SandboxSpec spec;
  spec.run.workdir = "/made";
  EXPECT_EQ(make(spec).error().reason, "keeper_lost");
  drain();
  EXPECT_TRUE(store.rows.empty());
  EXPECT_TRUE(runtime.disks.empty());
}

TEST_F(WarmPoolTest, ATakenSpareIsWatchedAsAnyOther) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(has_spares(1));
  const auto made = make();
  ASSERT_TRUE(made);
  runtime.die(made->id, "keeper lost");
  EXPECT_EQ(run(core->sandboxes().get(alice, made->id.get()))->state, SandboxState::kFailed);
}

TEST_F(WarmPoolTest, TheHostsRoomBoundsIt) {
  config.capacity.memory_bytes = config.host.memory_reserve_bytes + (8ull << 30);
  config.host.memory_overcommit = 1.0;  // room for four of 2 GiB
  ASSERT_TRUE(open());
  ASSERT_TRUE(make());
  ASSERT_TRUE(make());
  ASSERT_TRUE(has_spares(2)) << "two run";
  ASSERT_TRUE(create("named")) << "a spare holds up nobody";
  ASSERT_TRUE(create("other"));
  EXPECT_TRUE(has_spares(0)) << "the room is theirs now";
}

TEST_F(WarmPoolTest, DrainedHostsAndEndedDaemonsHaveNone) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(has_spares(1));
  Principal admin{TenantId("a"), "operator"};
  admin.scope = KeyScope::kAdmin;
  ASSERT_TRUE(run(core->drain().set(admin, true)));
  EXPECT_TRUE(has_spares(0));
  EXPECT_TRUE(runtime.alive.empty());
  EXPECT_TRUE(runtime.disks.empty());
  ASSERT_TRUE(run(core->drain().set(admin, false)));
  ASSERT_TRUE(has_spares(1));
  ASSERT_TRUE(run(core->close(false)));
  EXPECT_TRUE(runtime.alive.empty());
  EXPECT_TRUE(runtime.disks.empty());
  core.reset();
}

TEST_F(WarmPoolTest, AKilledDaemonsSparesGoWithTheNextStart) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(has_spares(1));
  const auto left = spares();
  ASSERT_TRUE(open());
  for (const SandboxId& id : left) {
    EXPECT_FALSE(runtime.alive.contains(id));
    EXPECT_FALSE(runtime.disks.contains(id));
  }
}

TEST_F(WarmPoolTest, IdleOnesGo) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(make());
  ASSERT_TRUE(has_spares(1));
  ASSERT_TRUE(make());
  ASSERT_TRUE(has_spares(2));
  clock.advance(minutes(11));
  SandboxSpec other;
  other.policy = "off";
  ASSERT_TRUE(make(other));  // the pool looks again at a creation
  EXPECT_TRUE(has_spares(0));
}

TEST_F(WarmPoolTest, ARemovedSnapshotTakesItsSpares) {
  images.images["x"] = testing::FakeImages::image_of({{"a", "1"}});
  ASSERT_TRUE(open());
  ImageSource source;
  source.reference = "x";
  const auto pulled = run(core->snapshots().create_from_image(alice, {}, source));
  ASSERT_TRUE(pulled);
  drain();
  SandboxSpec spec;
  spec.snapshot = pulled->id.get();
  std::vector<Sandbox> made;
  for (int i = 0; i < 2; ++i) made.push_back(*make(spec));
  ASSERT_TRUE(has_spares(3)) << "two of it, one of the default";
  Principal admin{TenantId("a"), "operator"};
  admin.scope = KeyScope::kAdmin;
  const auto clean = run(core->snapshots().contents().check(admin, Repair::kNo));
  ASSERT_TRUE(clean);
  EXPECT_TRUE(clean->findings.empty()) << "spares are no strays";
  for (const Sandbox& one : made) ASSERT_TRUE(run(core->sandboxes().remove(alice, one.id.get())));
  ASSERT_TRUE(run(core->snapshots().remove(alice, pulled->id.get())));
  EXPECT_TRUE(has_spares(1));
  EXPECT_TRUE(until([&] { return runtime.fake_layers.sealed.empty(); }))
      << "nothing holds its layer";
}

TEST_F(WarmPoolTest, ABootStandsBackFromCommands) {
  using Steady = std::chrono::steady_clock;
  ASSERT_TRUE(open());
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(make());
  bool stood_back = false;
  int number = 0;
  for (int tries = 0; tries < 20 && !stood_back; ++tries) {
    ASSERT_TRUE(has_spares(4));
    const auto made = make();
    ASSERT_TRUE(made);
    const std::size_t boots = runtime.boots.size();
    bool was_held_up = false;  // this process had no CPU for a moment, and then a boot may begin
    const auto end = Steady::now() + milliseconds(100);
    for (auto last = Steady::now(); last < end;) {
      const std::string id = "c" + std::to_string(++number);
      ASSERT_TRUE(run(core->commands().start(alice, made->name, command(id))));
      loop.restart();
      loop.run_for(milliseconds(3));
      const auto now = Steady::now();
      was_held_up = was_held_up || now - last > milliseconds(15);
      last = now;
    }
    if (was_held_up) continue;
    stood_back = runtime.boots.size() == boots;
    ASSERT_TRUE(stood_back);
  }
  EXPECT_TRUE(stood_back);
  EXPECT_TRUE(has_spares(4)) << "it comes all the same";
}

TEST_F(WarmPoolTest, AFailedBootHoldsUpNoOtherKind) {
  runtime.boot_error = Error{Code::kUnavailable, "launcher_gone", "no launcher", 0};
  ASSERT_TRUE(open());
  ASSERT_TRUE(until([&] { return !runtime.boots.empty(); }));
  runtime.boot_error.reset();
  SandboxSpec shut;
  shut.policy = "off";
  ASSERT_TRUE(make(shut));
  ASSERT_TRUE(make(shut));
  EXPECT_TRUE(has_spares(2));
  for (std::size_t i = 1; i < runtime.boots.size(); ++i) EXPECT_EQ(runtime.boots[i].policy, "off");
}

TEST_F(WarmPoolTest, AFailedBootIsNotRepeatedAtOnce) {
  runtime.boot_error = Error{Code::kUnavailable, "launcher_gone", "no launcher", 0};
  ASSERT_TRUE(open());
  ASSERT_TRUE(until([&] { return !runtime.boots.empty(); }));
  const auto end = std::chrono::steady_clock::now() + milliseconds(80);
  until([&] { return std::chrono::steady_clock::now() > end; });
  EXPECT_EQ(runtime.boots.size(), 1U);
  runtime.boot_error.reset();
  EXPECT_TRUE(make()) << "a request boots all the same";
}

TEST_F(WarmPoolTest, ACreationThatFailsAfterItTookOneLeavesNothing) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(has_spares(1));
  const SandboxId id = *spares().begin();
  SandboxSpec spec;
  spec.run.workdir = "/etc/passwd";
  runtime.box(id).fault = Error{Code::kInternal, "broken", "the keeper is in trouble", 0};
  EXPECT_FALSE(make(spec));
  drain();
  EXPECT_FALSE(runtime.alive.contains(id));
  EXPECT_FALSE(runtime.disks.contains(id));
  EXPECT_FALSE(store.rows.contains(id));
}

}  // namespace
}  // namespace cay::core
