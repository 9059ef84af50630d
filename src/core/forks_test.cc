// Copies of sandboxes, and their return to a snapshot's disk.
#include "core/forks.h"

#include "core/core_fixture.h"

namespace cay::core {
namespace {

class ForksTest : public CoreTest {
 protected:
  Result<std::vector<Sandbox>> fork(const std::string& ref, ForkRequest request) {
    return run(core->sandboxes().fork(alice, ref, std::move(request)));
  }
  testing::FakeFiles& files_of(const SandboxId& id) { return *runtime.disk_of(id).files; }
};

TEST_F(ForksTest, CopiesHaveTheDiskAndTheSettingsOfTheirSource) {
  ASSERT_TRUE(open());
  SandboxSpec spec = named("box");
  spec.labels = {{"a", "1"}, {"b", "1"}};
  spec.run.env = {{"E", "1"}};
  spec.limits.memory_bytes = 1ull << 28;
  const auto box = run(core->sandboxes().create(alice, spec, {}));
  files_of(box->id).put("/home/user/f", "kept");
  const auto made = fork("box", {.names = {"one", "two"}, .labels = {{"b", "2"}}});
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ(made->size(), 2U);
  for (const Sandbox& one : *made) {
    EXPECT_EQ(one.state, SandboxState::kReady);
    EXPECT_EQ(one.labels, (std::map<std::string, std::string>{{"a", "1"}, {"b", "2"}}));
    EXPECT_EQ(one.run.env.at("E"), "1");
    EXPECT_EQ(one.limits.memory_bytes, 1ull << 28);
    EXPECT_EQ(files_of(one.id).bytes_of("/home/user/f"), "kept");
    files_of(one.id).put("/home/user/f", "changed");
  }
  EXPECT_EQ(files_of(box->id).bytes_of("/home/user/f"), "kept");
  EXPECT_FALSE(runtime.box(box->id).numbers.paused);
  EXPECT_EQ(fork("box", {.count = 3})->size(), 3U);
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  EXPECT_EQ(fork("box", {})->size(), 1U);
  EXPECT_EQ(state("box"), SandboxState::kStopped);
}

TEST_F(ForksTest, IfOneFailsNoneIsLeftAndTheSourceGoesOn) {
  ASSERT_TRUE(open());
  ASSERT_TRUE(create("box"));
  ASSERT_TRUE(create("taken"));
  EXPECT_EQ(fork("box", {.names = {"new", "taken"}}).error().reason, "name_in_use");
  runtime.boot_script = {std::nullopt, Error{Code::kExhausted, "disk_full", "no room", 0}};
  EXPECT_EQ(fork("box", {.count = 2}).error().reason, "disk_full");
  drain();
  EXPECT_EQ(store.rows.size(), 2U);
  EXPECT_EQ(runtime.disks.size(), 2U);
  EXPECT_FALSE(runtime.alive.begin()->second->numbers.paused);
  EXPECT_EQ(store.meta.at("held_still"), "");
  EXPECT_EQ(fork("none", {}).error().reason, "sandbox_not_found");
  EXPECT_EQ(fork("box", {.names = {"-"}}).error().reason, "invalid_name");
}

TEST_F(ForksTest, ACommandWaitsWhileItsSandboxIsHeldStill) {
  ASSERT_TRUE(open());
  const auto box = create("box");
  runtime.hold_boots = true;
  auto forking = begin<std::vector<Sandbox>>(core->sandboxes().fork(alice, "box", {}));
  EXPECT_TRUE(runtime.box(box->id).numbers.paused);
  EXPECT_EQ(state("box"), SandboxState::kReady);
  auto reading = begin<FileInfo>(core->files().stat(alice, "box", "/", {}, true));
  EXPECT_FALSE(reading->done());
  runtime.release_boots();
  EXPECT_TRUE(finish(forking));
  EXPECT_TRUE(finish(reading));
}

TEST_F(ForksTest, ARollbackEmptiesTheDiskAndMayChangeTheSnapshot) {
  ASSERT_TRUE(open());
  const auto box = create("box");
  auto captured = run(core->snapshots().capture(alice, "box", {.name = "mine"}));
  captured = run(core->snapshots().wait(alice, captured->id, std::chrono::seconds(5)));
  files_of(box->id).put("/home/user/f", "x");
  const auto back = run(core->sandboxes().rollback(alice, "box", ""));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->state, SandboxState::kReady);
  EXPECT_TRUE(runtime.boots.back().fresh_disk);
  EXPECT_FALSE(files_of(box->id).bytes_of("/home/user/f"));
  EXPECT_EQ(run(core->sandboxes().rollback(alice, "box", "mine"))->snapshot_name, "mine");
  EXPECT_EQ(runtime.boots.back().layer, captured->layer);
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  drain();
  EXPECT_FALSE(runtime.boots.back().fresh_disk);  // once is enough
  EXPECT_EQ(runtime.boots.back().layer, captured->layer);
  EXPECT_EQ(run(core->sandboxes().rollback(alice, "box", "none")).error().reason,
            "snapshot_not_found");
}

TEST_F(ForksTest, ARollbackThatWasCutOffIsFinishedByTheNextStart) {
  ASSERT_TRUE(open());
  const auto box = create("box");
  runtime.boot_error = Error{Code::kUnavailable, "launcher_unavailable", "no launcher", 0};
  EXPECT_FALSE(run(core->sandboxes().rollback(alice, "box", "")));
  runtime.boot_error.reset();
  ASSERT_TRUE(open());
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  drain();
  EXPECT_EQ(state("box"), SandboxState::kReady);
  EXPECT_TRUE(runtime.boots.back().fresh_disk);
  // Begun, and the row not written: nothing was changed.
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  store.meta["fresh_disk"] = box->id.get() + "=" + new_uuid();
  ASSERT_TRUE(open());
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  drain();
  EXPECT_FALSE(runtime.boots.back().fresh_disk);
}

}  // namespace
}  // namespace cay::core
