// Snapshots from images: layers are made once, and what is cut off leaves no bootable snapshot.
#include "core/imports.h"

#include <array>

#include "async/bytes.h"

#include "core/core_fixture.h"

namespace cay::core {
namespace {

using testing::FakeImages;

class ImportsTest : public CoreTest {
 protected:
  ImportsTest() {
    images.images["python:3.12"] =
        FakeImages::image_of({{"bin/sh", "shell"}, {"bin/python", "3.12"}});
    images.images["python:3.13"] =
        FakeImages::image_of({{"bin/sh", "shell"}, {"bin/python", "3.13"}});
    runtime.can = {};
  }
  Result<SnapshotInfo> pull(const std::string& reference, NewSnapshot made = {},
                            std::optional<Principal> who = {}) {
    ImageSource source;
    source.reference = reference;
    return run(core->snapshots().create_from_image(who.value_or(alice), made, source));
  }
  SnapshotInfo get(const std::string& ref) {
    auto got = run(core->snapshots().get(alice, ref));
    EXPECT_TRUE(got) << got.error().message;
    return got ? *got : SnapshotInfo{};
  }
  std::vector<std::string> names(const Principal& who) {
    std::vector<std::string> out;
    const auto all = run(core->snapshots().list(who));
    for (const auto& one : *all) out.push_back(one.name);
    return out;
  }
};

TEST_F(ImportsTest, AnImageBecomesASnapshotWhoseSandboxesRunAsTheImageSays) {
  ASSERT_TRUE(open());
  images.images["python:3.12"].facts.config.run = {
      .user = "app", .workdir = "/srv", .env = {{"A", "image"}, {"B", "image"}}};
  NewSnapshot made;
  made.run.env = {{"B", "snapshot"}, {"C", "snapshot"}};
  made.disk_bytes = 1ull << 30;
  made.labels = {{"team", "x"}};
  const auto begun = pull("python:3.12", made);
  ASSERT_TRUE(begun) << begun.error().message;
  EXPECT_EQ(begun->status, kSnapshotBuilding);
  drain();
  const SnapshotInfo ready = get("python:3.12");
  EXPECT_EQ(ready.id, begun->id);
  EXPECT_EQ(ready.status, kSnapshotReady) << ready.status_message;
  EXPECT_EQ(ready.name, "python");
  EXPECT_EQ(ready.tags, std::vector<std::string>{"3.12"});
  EXPECT_EQ(ready.digest, "sha256:manifest");
  EXPECT_EQ(ready.config.labels.at("team"), "x");
  EXPECT_EQ(ready.used_bytes, 9U);  // "shell" and "3.12"
  SandboxSpec spec = named("box");
  spec.snapshot = "python:3.12";
  spec.run.env = {{"C", "sandbox"}};
  const auto box = run(core->sandboxes().create(alice, spec, {}));
  ASSERT_TRUE(box) << box.error().message;
  const BootSpec& boot = runtime.boots.back();
  EXPECT_EQ(boot.layer, ready.layer);
  EXPECT_EQ(boot.run.user, "app");
  EXPECT_EQ(boot.run.workdir, "/srv");
  EXPECT_EQ(boot.run.env, (std::map<std::string, std::string>{
                              {"A", "image"}, {"B", "snapshot"}, {"C", "sandbox"}}));
  EXPECT_EQ(boot.limits.disk_bytes, 1ull << 30);
}

TEST_F(ImportsTest, ALayerIsMadeOnceAndByASandboxWithoutAWayOut) {
  ASSERT_TRUE(open());
  images.hold = true;  // both pulls are under way at once
  ASSERT_TRUE(pull("python:3.12"));
  ASSERT_TRUE(pull("python:3.13"));
  images.release();
  drain();
  EXPECT_EQ(get("python:3.12").status, kSnapshotReady);
  EXPECT_EQ(get("python:3.13").status, kSnapshotReady);
  EXPECT_EQ(images.layers_read, 3);
  EXPECT_EQ(runtime.fake_layers.sealed.size(), 3U);
  ASSERT_EQ(runtime.boots.size(), 3U);
  for (const BootSpec& boot : runtime.boots) {
    EXPECT_TRUE(boot.builds_layer);
    EXPECT_EQ(boot.policy, "off");
    EXPECT_EQ(boot.limits.memory_bytes, 512ull << 20);
  }
  EXPECT_TRUE(runtime.disks.empty());  // the builders are gone
  EXPECT_EQ(get("python:3.12").own_bytes, 4U);
  ASSERT_TRUE(pull("python:3.12", {.name = "again"}));
  drain();
  EXPECT_EQ(get("again:3.12").layer, get("python:3.12").layer);
  EXPECT_EQ(images.layers_read, 3);
}

TEST_F(ImportsTest, AFailureIsShownAndLeavesNothing) {
  ASSERT_TRUE(open());
  const auto none = pull("none");
  ASSERT_TRUE(none);
  drain();
  EXPECT_EQ(get(none->id.get()).status, kSnapshotFailed);
  EXPECT_NE(get(none->id.get()).status_message.find("no image none"), std::string::npos);
  images.layer_error = Error{Code::kInvalidArgument, "digest_mismatch", "it lies", 0};
  const auto lies = pull("python:3.12");
  ASSERT_TRUE(lies);
  drain();
  EXPECT_EQ(get(lies->id.get()).status_message, "it lies");
  EXPECT_TRUE(runtime.disks.empty());
  EXPECT_TRUE(runtime.fake_layers.sealed.empty());
  SandboxSpec spec = named("box");
  spec.snapshot = "python:3.12";
  EXPECT_EQ(run(core->sandboxes().create(alice, spec, {})).error().reason, "snapshot_not_found");
  images.layer_error.reset();  // the name is free for another try
  ASSERT_TRUE(pull("python:3.12"));
  drain();
  EXPECT_EQ(get("python:3.12").status, kSnapshotReady);
}

TEST_F(ImportsTest, RemovalGivesUpAPullAndCollectsLayersThatNobodyNeeds) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(pull("python:3.12"));
  drain();
  SandboxSpec spec = named("box");
  spec.snapshot = "python:3.12";
  ASSERT_TRUE(run(core->sandboxes().create(alice, spec, {})));
  ASSERT_TRUE(run(core->snapshots().remove(alice, "python:3.12")));
  drain();
  EXPECT_EQ(runtime.fake_layers.sealed.size(), 2U);  // the sandbox stands on them
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  drain();
  EXPECT_EQ(state("box"), SandboxState::kReady);
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "box")));
  drain();
  EXPECT_TRUE(runtime.fake_layers.sealed.empty());

  images.hold = true;
  const auto begun = pull("python:3.13");
  EXPECT_EQ(get(begun->id.get()).status_message, "half way");
  ASSERT_TRUE(run(core->snapshots().remove(alice, begun->id.get())));
  EXPECT_EQ(run(core->snapshots().get(alice, begun->id.get())).error().reason,
            "snapshot_not_found");
  images.release();
  drain();
  EXPECT_TRUE(runtime.fake_layers.sealed.empty());
}

TEST_F(ImportsTest, ARestartFailsWhatWasBeingBuiltAndKeepsWhatIsWhole) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(pull("python:3.12"));
  drain();
  images.hold = true;
  const auto cut = pull("python:3.13");
  runtime.fake_layers.sealed[LayerId("orphan")].layer.id = LayerId("orphan");
  ASSERT_TRUE(open());
  drain();
  EXPECT_EQ(get("python:3.12").status, kSnapshotReady);
  EXPECT_EQ(get(cut->id.get()).status, kSnapshotFailed);
  EXPECT_NE(get(cut->id.get()).status_message.find("pull it again"), std::string::npos);
  EXPECT_EQ(runtime.fake_layers.sealed.size(), 2U);
  const LayerId lowest = runtime.fake_layers.sealed.at(get("python:3.12").layer).layer.below.at(0);
  runtime.fake_layers.sealed.erase(lowest);
  ASSERT_TRUE(open());
  EXPECT_EQ(get("python:3.12").status, kSnapshotFailed);
  // The pull of the first daemon is never resumed, for that daemon ended.
}

TEST_F(ImportsTest, AnImageIsPulledForASandboxOnceForAll) {
  ASSERT_TRUE(open());
  SandboxSpec spec = named("one");
  spec.image = "python:3.12";
  images.hold = true;
  auto first = begin<Sandbox>(core->sandboxes().create(alice, spec, {}));
  spec.name = "two";
  spec.image = "docker.io/library/python:3.12";
  auto second_one = begin<Sandbox>(core->sandboxes().create(alice, spec, {}));
  images.release();
  const auto one = finish(first);
  const auto two = finish(second_one);
  ASSERT_TRUE(one && two) << (one ? two.error().message : one.error().message);
  EXPECT_EQ(one->snapshot_id, two->snapshot_id);
  EXPECT_EQ(images.pulls.size(), 1U);
  spec.name = "three";
  ASSERT_TRUE(run(core->sandboxes().create(alice, spec, {})));
  EXPECT_EQ(images.pulls.size(), 1U);
  spec.name = "four";
  spec.image = "none:1";
  EXPECT_EQ(run(core->sandboxes().create(alice, spec, {})).error().reason, "image_not_found");
  spec.snapshot = "python";
  EXPECT_EQ(run(core->sandboxes().create(alice, spec, {})).error().reason, "invalid_snapshot");
}

TEST_F(ImportsTest, AnArchiveIsReadBeforeTheAnswer) {
  ASSERT_TRUE(open());
  NewSnapshot made;
  made.name = "mine";
  EXPECT_EQ(run(core->snapshots().create_from_archive(alice, made, source_of("x"))).error().reason,
            "bad_image");
  images.archive = FakeImages::image_of({{"a", "1"}});
  const auto begun = run(core->snapshots().create_from_archive(alice, made, source_of("x")));
  ASSERT_TRUE(begun) << begun.error().message;
  drain();
  EXPECT_EQ(get("mine").status, kSnapshotReady);
  EXPECT_EQ(get("mine").origin, kFromArchive);
}

TEST_F(ImportsTest, AReadySnapshotTellsWhatWasLeftOut) {
  ASSERT_TRUE(open());
  images.images["python:3.12"].note = "1 device node was left out: /dev/x";
  ASSERT_TRUE(pull("python:3.12"));
  ASSERT_TRUE(pull("python:3.13"));
  drain();
  EXPECT_EQ(get("python:3.12").status, kSnapshotReady);
  EXPECT_EQ(get("python:3.12").status_message, "1 device node was left out: /dev/x");
  EXPECT_EQ(get("python:3.13").status_message, "");  // the control
}

TEST_F(ImportsTest, AnArchiveGivesItsNameAndTagWhereTheRequestHasNone) {
  ASSERT_TRUE(open());
  images.archive = FakeImages::image_of({{"a", "1"}});
  const auto import = [&](const std::string& inside, const std::string& tag, NewSnapshot made) {
    images.archive->facts.name = inside;
    images.archive->facts.tag = tag;
    auto begun = run(core->snapshots().create_from_archive(alice, made, source_of("x")));
    drain();
    return begun;
  };
  for (const auto& [inside, tag, ref] : std::vector<std::array<std::string, 3>>{
           {"docker.io/library/python", "3.12", "python:3.12"},
           {"docker.io/foo/bar", "9", "foo/bar:9"},
           {"ghcr.io/team/app", "1", "ghcr.io/team/app:1"},
           {"localhost:5000/app", "", "localhost-5000/app:latest"}}) {
    const auto begun = import(inside, tag, {});
    ASSERT_TRUE(begun) << inside << ": " << begun.error().message;
    EXPECT_EQ(get(ref).id, begun->id);
    EXPECT_EQ(get(ref).status, kSnapshotReady);
  }
  // The request's own is stronger.
  const auto own = import("docker.io/library/python", "3.12", {.name = "mine", .tag = "1"});
  ASSERT_TRUE(own);
  EXPECT_EQ(get("mine:1").id, own->id);
  for (const std::string inside : {"", "docker.io/library/default"}) {
    const auto refused = import(inside, "1", {});
    ASSERT_FALSE(refused) << inside;
    EXPECT_EQ(refused.error().reason, "invalid_name");
    EXPECT_NE(refused.error().message.find("--name NAME"), std::string::npos);
  }
  // A request with a bad name or tag is refused before the archive is read.
  const auto reads = images.kinds.size();
  EXPECT_EQ(import("docker.io/a", "1", {.name = "a:b"}).error().reason, "invalid_name");
  EXPECT_EQ(import("docker.io/a", "1", {.tag = "a/b"}).error().reason, "invalid_tag");
  EXPECT_EQ(images.kinds.size(), reads);
}

TEST_F(ImportsTest, TenantsDoNotSeeEachOthersAndOnlyAnOperatorReachesSpecialNetworks) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(pull("python:3.12"));
  drain();
  EXPECT_EQ(names(alice), (std::vector<std::string>{"default", "python"}));
  EXPECT_EQ(names(bob), std::vector<std::string>{"default"});
  EXPECT_EQ(run(core->snapshots().get(bob, "python:3.12")).error().reason, "snapshot_not_found");
  EXPECT_EQ(run(core->snapshots().remove(bob, "default")).error().reason, "host_snapshot");
  EXPECT_FALSE(images.pulls.back().special_network);
  Principal root = alice;
  root.scope = KeyScope::kAdmin;
  ASSERT_TRUE(pull("python:3.13", {}, root));
  drain();
  EXPECT_TRUE(images.pulls.back().special_network);
  EXPECT_EQ(run(core->snapshots().remove(root, "default")).error().reason, "default_snapshot");
}

// A manifest has the digests, so that they prove nothing.
TEST_F(ImportsTest, ALayerOfAnotherTenantIsNotFoundByItsDigest) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(pull("python:3.12"));
  drain();
  EXPECT_EQ(images.layers_read, 2);
  images.archive = images.images.at("python:3.12");
  const auto import = [&](const Principal& who, std::string name) {
    NewSnapshot made;
    made.name = std::move(name);
    EXPECT_TRUE(run(core->snapshots().create_from_archive(who, made, source_of("x"))));
    drain();
  };
  images.layer_error = Error{Code::kInvalidArgument, "digest_mismatch", "these are other bytes", 0};
  import(bob, "stolen");
  EXPECT_EQ(run(core->snapshots().get(bob, "stolen"))->status, kSnapshotFailed);
  images.layer_error.reset();
  images.layers_read = 0;
  import(bob, "own");
  const auto own = run(core->snapshots().get(bob, "own"));
  ASSERT_TRUE(own);
  EXPECT_EQ(own->status, kSnapshotReady);
  EXPECT_NE(own->layer, get("python:3.12").layer);
  EXPECT_EQ(images.layers_read, 2);
  import(alice, "again");  // the control: a tenant's own layer is found
  EXPECT_EQ(get("again").layer, get("python:3.12").layer);
  EXPECT_EQ(images.layers_read, 2);
  EXPECT_EQ(images.pulls.back().owner, alice.tenant.get());
  EXPECT_EQ(images.owners,
            (std::vector<std::string>{bob.tenant.get(), bob.tenant.get(), alice.tenant.get()}));
}

TEST_F(ImportsTest, WithoutImagesOrLayersTheReasonIsTold) {
  config.images = nullptr;
  ASSERT_TRUE(open());
  EXPECT_EQ(pull("python:3.12").error().reason, "images_unsupported");
  ASSERT_TRUE(run(core->close(false)));
  config.images = &images;
  runtime.has_layers = false;
  ASSERT_TRUE(open());
  EXPECT_EQ(pull("python:3.12").error().reason, "no_layers");
}

TEST_F(ImportsTest, NamesAndReferencesAreChecked) {
  ASSERT_TRUE(open());
  EXPECT_EQ(pull("a b").error().reason, "bad_reference");
  EXPECT_EQ(pull("python", {.name = "a:b"}).error().reason, "invalid_name");
  EXPECT_EQ(pull("python", {.name = "default"}).error().reason, "invalid_name");
  EXPECT_EQ(pull("python", {.tag = "a/b"}).error().reason, "invalid_tag");
  EXPECT_EQ(pull("python", {.disk_bytes = 1}).error().reason, "invalid_limits");
  EXPECT_TRUE(images.pulls.empty());
}

}  // namespace
}  // namespace cay::core
