// The store is judged: each fault is planted, found by its name, and mended where that is safe.
#include "core/fsck.h"

#include "core/core_fixture.h"
#include "core/verbs/contents.h"

namespace cay::core {
namespace {

class FsckTest : public CoreTest {
 protected:
  FsckTest() { images.images["x"] = testing::FakeImages::image_of({{"a", "1"}, {"b", "2"}}); }

  void pull() {
    ASSERT_TRUE(open());
    ImageSource source;
    source.reference = "x";
    ASSERT_TRUE(run(core->snapshots().create_from_image(alice, {}, source)));
    drain();
    const auto all = store.snapshots().all();
    for (const auto& one : *all) {
      if (one.name == "x") layer = one.layer;
    }
    ASSERT_FALSE(layer.get().empty());
  }
  std::vector<std::string> check(Repair repair = Repair::kNo) {
    Principal who{TenantId("a"), "operator"};
    who.scope = KeyScope::kAdmin;
    const auto report = run(core->snapshots().contents().check(who, repair));
    EXPECT_TRUE(report) << report.error().message;
    std::vector<std::string> out;
    if (!report) return out;
    for (const StoreFinding& one : report->findings) {
      EXPECT_FALSE(one.meaning.empty());
      EXPECT_FALSE(one.remedy.empty());
      EXPECT_EQ(one.repaired, one.can_repair && repair == Repair::kYes) << one.kind;
      out.push_back(one.kind + " " + one.subject);
    }
    return out;
  }

  LayerId layer;  // the top one of the image
};

using Found = std::vector<std::string>;

TEST_F(FsckTest, AWholeStoreIsCleanAndOnlyItsOperatorLooks) {
  pull();
  EXPECT_EQ(check(), Found{});
  EXPECT_EQ(run(core->snapshots().contents().check(alice, Repair::kNo)).error().reason,
            "operator_only");
}

TEST_F(FsckTest, ALayerThatIsGoneFailsItsSnapshot) {
  pull();
  runtime.fake_layers.sealed.erase(layer);
  const auto found = check();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(found[0].starts_with("snapshot_without_layer "));
  EXPECT_EQ(found[1], "row_without_layer " + layer.get());
  check(Repair::kYes);
  EXPECT_EQ(run(core->snapshots().get(alice, "x"))->status, kSnapshotFailed);
  check(Repair::kYes);  // the layer below is needed by nobody then
  EXPECT_EQ(check(), Found{});
}

TEST_F(FsckTest, WhatNobodyKnowsIsFoundAndRemoved) {
  pull();
  testing::FakeLayer stray;
  stray.layer.id = LayerId(new_uuid());
  runtime.fake_layers.sealed.emplace(stray.layer.id, stray);
  const SandboxId disk(new_uuid());
  runtime.put_alive(disk);
  EXPECT_EQ(check(),
            (Found{"layer_without_row " + stray.layer.id.get(), "stray_disk " + disk.get()}));
  check(Repair::kYes);
  EXPECT_EQ(check(), Found{});
  EXPECT_FALSE(runtime.fake_layers.sealed.contains(stray.layer.id));
}

TEST_F(FsckTest, AWrongBaseIsNamedAndNotMended) {
  pull();
  runtime.fake_layers.sealed.at(layer).layer.below.clear();
  EXPECT_EQ(check(Repair::kYes), (Found{"layer_with_wrong_base " + layer.get()}));
}

TEST_F(FsckTest, TheOperatorsDefaultIsPulledWhileTheDaemonServes) {
  config.default_snapshot = "x";
  images.hold = true;
  ASSERT_TRUE(open());
  drain();
  const auto early = create("early");
  ASSERT_FALSE(early);
  EXPECT_EQ(early.error().reason, "snapshot_not_ready");
  EXPECT_NE(early.error().message.find("operator's x"), std::string::npos);
  SandboxSpec spec = named("box");
  spec.snapshot = "host";  // the host's own is there meanwhile
  EXPECT_TRUE(run(core->sandboxes().create(alice, spec, {})));
  images.release();
  drain();
  const auto made = create("late");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(run(core->snapshots().get(bob, "default"))->name, "x");
  EXPECT_EQ(run(core->snapshots().remove(alice, made->snapshot_id.get())).error().reason,
            "host_snapshot");
}

TEST_F(FsckTest, ADefaultThatCannotBePulledIsReported) {
  config.default_snapshot = "none";
  ASSERT_TRUE(open());
  drain();
  bool is_ready = true;
  for (const auto& one : core->readiness()) {
    if (one.name != "default_snapshot") continue;
    is_ready = one.ok;
    EXPECT_NE(one.detail.find("no image none"), std::string::npos) << one.detail;
  }
  EXPECT_FALSE(is_ready);
  EXPECT_NE(create("box").error().message.find("no image none"), std::string::npos);
}

}  // namespace
}  // namespace cay::core
