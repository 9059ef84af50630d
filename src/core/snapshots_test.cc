// Captures, tags and pushes.
#include "core/snapshots.h"

#include "core/core_fixture.h"

namespace cay::core {
namespace {

class SnapshotsTest : public CoreTest {
 protected:
  Result<SnapshotInfo> capture(const std::string& box, NewSnapshot made) {
    auto begun = run(core->snapshots().capture(alice, box, std::move(made)));
    if (!begun) return begun;
    return run(core->snapshots().wait(alice, begun->id, std::chrono::seconds(5)));
  }
  Result<SnapshotInfo> get(const std::string& ref) {
    return run(core->snapshots().get(alice, ref));
  }
};

TEST_F(SnapshotsTest, ACaptureStandsOnTheSandboxsLayersAndKeepsItsSettings) {
  ASSERT_TRUE(open());
  SandboxSpec spec = named("box");
  spec.run.env = {{"A", "1"}};
  ASSERT_TRUE(run(core->sandboxes().create(alice, spec, {})));
  const auto got = capture("box", {.name = "mine", .labels = {{"k", "v"}}});
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->status, kSnapshotReady) << got->status_message;
  EXPECT_EQ(got->tags, std::vector<std::string>{"latest"});
  EXPECT_EQ(got->config.run.env.at("A"), "1");
  EXPECT_EQ(got->config.labels.at("k"), "v");
  EXPECT_EQ(got->source_sandbox, runtime.only_box().boot_spec.id);
  EXPECT_EQ(runtime.fake_layers.sealed.at(got->layer).layer.below.at(0),
            LayerId(runtime.default_snapshot.id.get()));
  EXPECT_EQ(state("box"), SandboxState::kReady);
  SandboxSpec copy = named("copy");
  copy.snapshot = "mine";
  ASSERT_TRUE(run(core->sandboxes().create(alice, copy, {})));
  EXPECT_EQ(runtime.boots.back().layer, got->layer);
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));  // a stopped one can be captured
  EXPECT_EQ(capture("box", {.name = "later"})->status, kSnapshotReady);
  EXPECT_EQ(run(core->snapshots().capture(alice, "none", {.name = "x"})).error().reason,
            "sandbox_not_found");
  EXPECT_EQ(run(core->snapshots().capture(alice, "box", {})).error().reason, "invalid_name");
}

TEST_F(SnapshotsTest, WhatRunsIsHeldStillAndGoesOnAlsoAfterAFailure) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("box"));
  runtime.fake_layers.seal_error = Error{Code::kExhausted, "disk_full", "no room", 0};
  const auto failed = capture("box", {.name = "mine"});
  EXPECT_EQ(failed->status, kSnapshotFailed);
  EXPECT_NE(failed->status_message.find("no room"), std::string::npos);
  EXPECT_FALSE(runtime.only_box().numbers.paused);
  EXPECT_EQ(state("box"), SandboxState::kReady);
  EXPECT_EQ(store.meta.at("held_still"), "");
}

TEST_F(SnapshotsTest, ADaemonThatEndsInTheMiddleLeavesNobodyHeld) {
  ASSERT_TRUE(open());
  const auto box = create("box");
  ASSERT_TRUE(box);
  store.meta["held_still"] = box->id.get() + "=still";
  runtime.only_box().numbers.paused = true;
  ASSERT_TRUE(open());
  drain();
  EXPECT_FALSE(runtime.only_box().numbers.paused);
  EXPECT_EQ(state("box"), SandboxState::kReady);
  EXPECT_EQ(store.meta.at("held_still"), "");
}

TEST_F(SnapshotsTest, ACaptureOfADefaultOutlivesTheDefaultAndTheDaemon) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("box"));
  const auto got = capture("box", {.name = "mine"});
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "box")));
  runtime.default_snapshot.id = SnapshotId(new_uuid());
  for (int start = 0; start < 2; ++start) {
    ASSERT_TRUE(open());
    drain();
    EXPECT_EQ(get("mine")->status, kSnapshotReady) << get("mine")->status_message;
  }
  EXPECT_TRUE(runtime.fake_layers.removals.empty());
  ASSERT_TRUE(run(core->snapshots().remove(alice, "mine")));
  ASSERT_TRUE(open());
  drain();
  EXPECT_EQ(store.snapshot_rows.size(), 1U);
  EXPECT_EQ(store.layer_rows.size(), 1U);
}

TEST_F(SnapshotsTest, ATagMovesOnlyToWhatIsReady) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("box"));
  const auto first = capture("box", {.name = "mine", .tag = "1"});
  const auto second_one = capture("box", {.name = "mine", .tag = "2"});
  ASSERT_TRUE(first && second_one);
  EXPECT_EQ(get("mine").error().reason, "snapshot_not_found");  // no latest, and none untagged
  ASSERT_TRUE(run(core->snapshots().tag(alice, "mine:1", "latest")));
  EXPECT_EQ(get("mine")->id, first->id);
  EXPECT_EQ(run(core->snapshots().tag(alice, "mine:2", "latest"))->tags,
            (std::vector<std::string>{"2", "latest"}));
  EXPECT_EQ(get("mine")->id, second_one->id);
  EXPECT_EQ(get("mine:1")->id, first->id);
  runtime.fake_layers.seal_error = Error{Code::kExhausted, "disk_full", "no room", 0};
  const auto failed = capture("box", {.name = "mine", .tag = "latest"});
  EXPECT_EQ(failed->status, kSnapshotFailed);
  EXPECT_EQ(get("mine")->id, second_one->id);
  EXPECT_EQ(run(core->snapshots().tag(alice, failed->id.get(), "x")).error().reason,
            "snapshot_not_ready");
  EXPECT_EQ(run(core->snapshots().tag(alice, "mine:1", "a b")).error().reason, "invalid_tag");
  ASSERT_TRUE(run(core->snapshots().remove(alice, "mine:2")));
  EXPECT_EQ(get("mine:2").error().reason, "snapshot_not_found");
}

TEST_F(SnapshotsTest, APushSendsEveryLayerFromTheLowestOn) {
  ASSERT_TRUE(open());
  images.images["base"] = testing::FakeImages::image_of({{"a", "1"}, {"b", "2"}});
  ImageSource source;
  source.reference = "base";
  ASSERT_TRUE(run(core->snapshots().create_from_image(alice, {}, source)));
  drain();
  EXPECT_EQ(run(core->snapshots().pushed(alice, "base", {})).error().reason, "push_not_found");
  const auto begun = run(core->snapshots().push(alice, "base", "localhost:5000/x:1", {"me", "pw"}));
  ASSERT_TRUE(begun) << begun.error().message;
  EXPECT_EQ(begun->state, kPushing);
  const auto done = run(core->snapshots().pushed(alice, "base", std::chrono::seconds(5)));
  EXPECT_EQ(done->state, kPushed) << done->message;
  EXPECT_EQ(done->digest, "sha256:pushed");
  ASSERT_EQ(images.pushes.size(), 1U);
  ASSERT_EQ(images.pushes.front().layers.size(), 2U);
  EXPECT_EQ(std::get<LayerEntry>(images.pushes.front().layers.at(0).at(0)).path, "a");
  EXPECT_EQ(std::get<LayerEntry>(images.pushes.front().layers.at(1).at(0)).path, "b");
  EXPECT_EQ(images.pushes.front().request.login.password, "pw");
  EXPECT_TRUE(runtime.disks.empty());
  images.push_error = Error{Code::kPermissionDenied, "registry_denied", "no right", 0};
  ASSERT_TRUE(run(core->snapshots().push(alice, "base", "localhost:5000/x:1", {})));
  EXPECT_EQ(run(core->snapshots().pushed(alice, "base", std::chrono::seconds(5)))->message,
            "no right");
  EXPECT_EQ(run(core->snapshots().push(alice, "base", "a b", {})).error().reason, "bad_reference");
}

TEST_F(SnapshotsTest, DefaultsOfEarlierSettingsGoOnceNoSandboxUsesThem) {
  SnapshotInfo old = runtime.default_snapshot;
  old.id = SnapshotId(new_uuid());
  old.layer = LayerId(old.id.get());
  store.snapshot_rows[old.id] = old;
  runtime.fake_layers.sealed[old.layer].layer.id = old.layer;
  ASSERT_TRUE(open());
  drain();
  EXPECT_FALSE(store.snapshot_rows.contains(old.id));
  EXPECT_FALSE(runtime.fake_layers.sealed.contains(old.layer));
  const auto box = create("box");
  SnapshotInfo newer = runtime.default_snapshot;
  newer.id = SnapshotId(new_uuid());
  std::swap(runtime.default_snapshot, newer);
  ASSERT_TRUE(open());
  drain();
  EXPECT_TRUE(store.snapshot_rows.contains(box->snapshot_id));
  EXPECT_EQ(create("other")->snapshot_id, runtime.default_snapshot.id);
}

}  // namespace
}  // namespace cay::core
