// Read-only and hidden paths: what a creation may name, and that every boot has them.
#include "core/core_fixture.h"

namespace cay::core {
namespace {

class PathRulesTest : public CoreTest {
 protected:
  PathRulesTest() {
    config.defaults.profiles.allowed = {Profile::kStrict, Profile::kDefault, Profile::kNested};
    EXPECT_TRUE(open());
  }
  Result<Sandbox> make(SandboxSpec spec) {
    return run(core->sandboxes().create(alice, std::move(spec), CreateOptions{}));
  }
  std::string refusal(const SandboxSpec& spec) {
    const auto made = make(spec);
    return made ? "made" : made.error().reason;
  }
  static SandboxSpec with(PathList read_only, PathList hidden) {
    SandboxSpec spec = named("");
    spec.read_only_paths = std::move(read_only);
    spec.hidden_paths = std::move(hidden);
    return spec;
  }
};

TEST_F(PathRulesTest, EveryBootHasThemAndSoDoForks) {
  auto spec = with({"/repo/vendor"}, {"/secrets", "/repo/.env"});
  spec.name = "box";
  ASSERT_TRUE(make(spec));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  ASSERT_TRUE(open());
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  drain();
  ASSERT_TRUE(run(core->sandboxes().fork(alice, "box", {})));
  ASSERT_EQ(runtime.boots.size(), 3U);
  for (const BootSpec& boot : runtime.boots) {
    EXPECT_EQ(boot.read_only_paths, spec.read_only_paths);
    EXPECT_EQ(boot.hidden_paths, spec.hidden_paths);
  }
}

TEST_F(PathRulesTest, PathsArePlainAndOfTheSandboxesOwn) {
  for (const char* path : {"", "/", "work", "/a/../b", "/a/./b", "/a//b", "/a/", "/proc", "/sys/x",
                           "/dev/shm", "/run", "/a\nb"}) {
    EXPECT_EQ(refusal(with({path}, {})), "invalid_paths") << path;
    EXPECT_EQ(refusal(with({}, {path})), "invalid_paths") << path;
  }
  std::string deep;
  for (int i = 0; i < 33; ++i) deep += "/x";
  EXPECT_EQ(refusal(with({}, {deep})), "invalid_paths");
  EXPECT_EQ(refusal(with({}, {deep.substr(2)})), "made");
  PathList many;
  for (int i = 0; i < 32; ++i) many.push_back("/h" + std::to_string(i));
  EXPECT_EQ(refusal(with({}, many)), "made");
  EXPECT_EQ(refusal(with({"/one-more"}, many)), "invalid_paths");
}

TEST_F(PathRulesTest, OneRuleForAPathAndNothingBelowAHiddenOne) {
  EXPECT_EQ(refusal(with({"/a", "/a/b"}, {"/a/b/c"})), "made");
  EXPECT_EQ(refusal(with({"/a", "/a"}, {})), "invalid_paths");
  EXPECT_EQ(refusal(with({"/a"}, {"/a"})), "invalid_paths");
  EXPECT_EQ(refusal(with({"/a/b"}, {"/a"})), "invalid_paths");
  EXPECT_EQ(refusal(with({}, {"/a", "/a/b"})), "invalid_paths");
  EXPECT_EQ(refusal(with({"/ab"}, {"/a"})), "made") << "beside it";
}

TEST_F(PathRulesTest, WhatIsMountedLiesBelowAReadOnlyPathAlone) {
  auto spec = with({"/repo"}, {});
  spec.tmpfs = {{"/repo/out", 0}};
  EXPECT_EQ(refusal(spec), "made");
  spec = with({"/repo/out/x"}, {});
  spec.tmpfs = {{"/repo/out", 0}};
  EXPECT_EQ(refusal(spec), "invalid_paths");
  spec = with({}, {"/repo"});
  spec.tmpfs = {{"/repo/out", 0}};
  EXPECT_EQ(refusal(spec), "invalid_paths");
  spec.tmpfs = {{"/repo", 0}};
  EXPECT_EQ(refusal(spec), "invalid_paths");
}

TEST_F(PathRulesTest, TheyChangeWhileItIsStopped) {
  ASSERT_TRUE(create("box"));
  SandboxPatch patch;
  patch.hidden_paths = {"/secrets"};
  const auto change = [&] {
    const auto got = run(core->sandboxes().update(alice, "box", patch));
    return got ? "changed" : got.error().reason;
  };
  EXPECT_EQ(change(), "paths_need_a_stop") << "a row has the rules that hold";
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  EXPECT_EQ(change(), "changed");
  patch.read_only_paths = {"/secrets/below"};
  EXPECT_EQ(change(), "invalid_paths") << "beside those that stay";
  patch.read_only_paths = {"/repo"};
  patch.hidden_paths.reset();
  runtime.can.path_rules = {"not here"};
  EXPECT_EQ(change(), "paths_unsupported");
  runtime.can.path_rules = {};
  EXPECT_EQ(change(), "changed");
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  drain();
  EXPECT_EQ(runtime.boots.back().hidden_paths, PathList{"/secrets"});
  EXPECT_EQ(runtime.boots.back().read_only_paths, PathList{"/repo"});
}

TEST_F(PathRulesTest, ContainersWouldMoveThem) {
  auto spec = with({}, {"/secrets"});
  spec.profile = "nested";
  EXPECT_EQ(refusal(spec), "invalid_paths");
  spec.hidden_paths.clear();
  EXPECT_EQ(refusal(spec), "made") << "the control";
  spec = with({}, {"/secrets"});
  spec.profile = "strict";
  EXPECT_EQ(refusal(spec), "made");
}

}  // namespace
}  // namespace cay::core
