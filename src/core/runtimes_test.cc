// Two runtimes side by side in one core.
#include "core/runtimes.h"

#include "core/core_fixture.h"
#include "core/verbs/contents.h"
#include "core/verbs/volumes.h"

namespace cay::core {
namespace {

using std::chrono::hours;

class RuntimesTest : public CoreTest {
 protected:
  RuntimesTest() {
    second = std::make_unique<testing::FakeRuntime>(loop.get_executor(), clock);
    second->default_snapshot.id = SnapshotId("00000000-0000-4000-8000-00000000e0e0");
    second->boot_id = "boot-of-second";
  }

  Result<Sandbox> create_in_second(const std::string& name, CreateOptions options = {}) {
    SandboxSpec spec = named(name);
    spec.snapshot = "second";
    return run(core->sandboxes().create(alice, std::move(spec), options));
  }
  // Starts the daemon again. `with`: whether it has the second runtime.
  Result<void> restart(bool with) {
    auto kept = std::move(second);
    if (with) second = std::move(kept);
    auto opened = open();
    if (!with) away = std::move(kept);
    return opened;
  }
  template <class T>
  static std::string reason(const Result<T>& got) {
    return got ? "ok" : got.error().reason;
  }

  std::unique_ptr<testing::FakeRuntime> away;  // a runtime that the daemon was started without
};

TEST_F(RuntimesTest, ASandboxRunsInTheRuntimeOfItsSnapshot) {
  ASSERT_TRUE(open());
  const auto first = create("one");
  const auto other = create_in_second("two");
  ASSERT_TRUE(first && other);
  EXPECT_EQ(first->runtime, kNativeRuntime);
  EXPECT_EQ(other->runtime, "second");
  EXPECT_TRUE(runtime.alive.contains(first->id) && !runtime.alive.contains(other->id));
  EXPECT_TRUE(second->alive.contains(other->id) && !second->alive.contains(first->id));
}

TEST_F(RuntimesTest, EveryVerbGoesToTheRowsRuntime) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("one"));
  const SandboxId id = create_in_second("two")->id;
  ASSERT_TRUE(run(core->commands().start(alice, "two", command("c"))));
  EXPECT_EQ(second->box(id).fake_commands().started.size(), 1u);
  SandboxPatch patch;
  patch.policy = "off";
  ASSERT_TRUE(run(core->sandboxes().update(alice, "two", patch)));
  EXPECT_EQ(second->policies.count(id), 1u);
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "two")));
  EXPECT_EQ(run(core->commands().list(alice, "two"))->size(), 1u) << "from the spools";
  EXPECT_TRUE(run(core->inspection().network(alice, "two")));
  ASSERT_TRUE(run(core->files().stat(alice, "two", "/", {}, true))) << "wakes it";
  EXPECT_EQ(second->boots.size(), 2u);
  second->die(id, "its host failed");
  EXPECT_EQ(state("two"), SandboxState::kFailed);
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "two")));
  EXPECT_EQ(second->destroys, std::vector<SandboxId>{id});
  EXPECT_EQ(state("one"), SandboxState::kReady);
  EXPECT_TRUE(runtime.stops.empty() && runtime.destroys.empty());
}

// Layers and volumes lie on the disks of the first runtime.
TEST_F(RuntimesTest, WhatNeedsLayersIsRefusedInAnotherRuntimeThanTheFirst) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("one"));
  ASSERT_TRUE(create_in_second("two"));
  for (const auto& [box, expected] : {std::pair{"one", "ok"}, std::pair{"two", "no_layers"}}) {
    EXPECT_EQ(reason(run(core->sandboxes().fork(alice, box, {}))), expected);
    EXPECT_EQ(reason(run(core->sandboxes().rollback(alice, box, {}))), expected);
    EXPECT_EQ(reason(run(core->snapshots().capture(alice, box, {.name = "mine"}))), expected);
    EXPECT_EQ(reason(run(core->snapshots().contents().changes(alice, box))), expected);
  }
  ASSERT_TRUE(run(core->volumes().create(alice, {.name = "vol"})));
  SandboxSpec spec = named("three");
  spec.snapshot = "second";
  spec.volumes = {{.volume = "vol", .path = "/data"}};
  EXPECT_EQ(reason(run(core->sandboxes().create(alice, std::move(spec), {}))), "no_volumes");
}

TEST_F(RuntimesTest, EachAdoptsItsOwnAndKeepsTheDisksOfAllRows) {
  ASSERT_TRUE(open());
  const SandboxId one = create("one")->id;
  const SandboxId two = create_in_second("two")->id;
  ASSERT_TRUE(restart(true));
  EXPECT_EQ(core->registry().by_id(one)->live, runtime.alive.at(one));
  EXPECT_EQ(core->registry().by_id(two)->live, second->alive.at(two));
  EXPECT_EQ(runtime.known_at_adopt.size(), 2u);
  EXPECT_TRUE(runtime.destroys.empty() && second->destroys.empty());
}

TEST_F(RuntimesTest, ARestartOfOneHostSaysNothingOfTheOther) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("one"));
  ASSERT_TRUE(create_in_second("two"));
  second->boot_id = "another";
  second->alive.clear();
  ASSERT_TRUE(restart(true));
  EXPECT_EQ(state("one"), SandboxState::kReady);
  EXPECT_EQ(state("two"), SandboxState::kStopped);
  EXPECT_EQ(run(core->sandboxes().get(alice, "two"))->reason, kStoppedByHost);
}

TEST_F(RuntimesTest, WhatNoRowNamesIsDestroyedAndWhatAnotherRuntimeHasStays) {
  ASSERT_TRUE(open());
  const SandboxId two = create_in_second("two")->id;
  const SandboxId stranger("00000000-0000-4000-8000-000000000001");
  runtime.put_alive(two);  // as if it had been moved by hand
  second->put_alive(stranger);
  ASSERT_TRUE(restart(true));
  EXPECT_EQ(second->destroys, std::vector<SandboxId>{stranger});
  EXPECT_TRUE(runtime.destroys.empty());
}

// A daemon that is started without a runtime cannot know what became of that runtime's sandboxes.
TEST_F(RuntimesTest, WithoutItsRuntimeASandboxStaysAsItIsAndSaysWhy) {
  ASSERT_TRUE(open());
  SandboxSpec spec = named("two");
  spec.snapshot = "second";
  spec.idle_ttl_s = 60;
  const SandboxId id = run(core->sandboxes().create(alice, spec, CreateOptions{}))->id;
  ASSERT_TRUE(run(core->commands().start(alice, "two", command("c"))));
  spec.name = "brief";
  spec.lifetime_s = 120;
  const SandboxId brief = run(core->sandboxes().create(alice, spec, CreateOptions{}))->id;
  ASSERT_TRUE(restart(false));
  const auto shown = run(core->sandboxes().get(alice, "two"));
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->state, SandboxState::kReady);
  EXPECT_NE(shown->reason.find("runtime 'second'"), std::string::npos);
  const std::string missing = "runtime_not_configured";
  EXPECT_EQ(reason(run(core->sandboxes().start(alice, "two"))), missing);
  EXPECT_EQ(reason(run(core->sandboxes().stop(alice, "two"))), missing);
  EXPECT_EQ(reason(run(core->sandboxes().pause(alice, "two"))), missing);
  EXPECT_EQ(reason(run(core->sandboxes().update(alice, "two", {}))), missing);
  EXPECT_EQ(reason(run(core->sandboxes().remove(alice, "two"))), missing);
  EXPECT_EQ(reason(run(core->commands().start(alice, "two", command("d")))), missing);
  EXPECT_EQ(reason(run(core->commands().list(alice, "two"))), missing);
  EXPECT_EQ(reason(run(core->files().stat(alice, "two", "/", {}, true))), missing);
  EXPECT_EQ(reason(run(core->tunnels().open(alice, "two", 80))), missing);
  EXPECT_EQ(reason(run(core->inspection().stats(alice, "two"))), missing);
  EXPECT_EQ(reason(create_in_second("three")), missing) << "its snapshot is of that runtime";
  clock.advance(hours(1));
  core->timers().sweep();
  drain();
  EXPECT_EQ(store.rows.at(id).state, SandboxState::kReady);
  EXPECT_EQ(store.rows.at(brief).state, SandboxState::kReady);
  const Principal operator_key{
      .tenant = TenantId("default"), .key_name = "default", .scope = KeyScope::kAdmin};
  const auto drained = run(core->drain().stop_all(operator_key));
  ASSERT_TRUE(drained);
  EXPECT_EQ(drained->silent_sandboxes, 2u);

  second = std::move(away);
  ASSERT_TRUE(open());
  EXPECT_EQ(core->registry().by_id(id)->live, second->alive.at(id));
  EXPECT_EQ(run(core->sandboxes().get(alice, "two"))->reason, "");
  EXPECT_EQ(run(core->commands().list(alice, "two"))->size(), 1u);
  drain();
  EXPECT_FALSE(store.rows.contains(brief)) << "its time was over meanwhile";
}

TEST_F(RuntimesTest, ARuntimeOfItsOwnCapacityTakesNoneOfTheHosts) {
  config.host.memory_overcommit = 1;
  config.capacity.memory_bytes = config.host.memory_reserve_bytes + (2ull << 30);  // one of 2 GiB
  second_capacity = config.capacity;
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("one"));
  ASSERT_TRUE(create_in_second("two"));
  const CreateOptions soon{.timeout = std::chrono::milliseconds(20)};
  EXPECT_EQ(reason(create("three", soon)), "quota_memory");
  EXPECT_EQ(reason(create_in_second("four", soon)), "quota_memory");
  EXPECT_EQ(run(core->usage().summary(alice))->memory_limit_bytes, 4ull << 30);
}

TEST_F(RuntimesTest, RuntimesOfOneHostShareItsCapacity) {
  config.host.memory_overcommit = 1;
  config.capacity.memory_bytes = config.host.memory_reserve_bytes + (2ull << 30);
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("one"));
  const CreateOptions soon{.timeout = std::chrono::milliseconds(20)};
  EXPECT_EQ(reason(create_in_second("two", soon)), "quota_memory");
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "one")));
  EXPECT_TRUE(create_in_second("two", soon));
}

TEST_F(RuntimesTest, DoctorAndReadinessNameTheOther) {
  ASSERT_TRUE(open());
  const auto features = run(core->features());
  ASSERT_TRUE(features);
  ASSERT_EQ(features->size(), 2u);
  EXPECT_EQ(features->at(0).name, "fake");
  EXPECT_EQ(features->at(1).name, "second: fake");
  const auto checks = core->readiness();
  EXPECT_EQ(checks.at(0).name, "launcher");
  EXPECT_EQ(checks.at(1).name, "runtime second");
}

}  // namespace
}  // namespace cay::core
