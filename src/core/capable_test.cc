// The core refuses what a runtime cannot do, before anything is made.
#include "core/core_fixture.h"

namespace cay::core {
namespace {

class CapableTest : public CoreTest {
 protected:
  CapableTest() { EXPECT_TRUE(open()); }
  // The reason of a refused creation, which has left nothing.
  std::string refusal(SandboxSpec spec) {
    const auto made = run(core->sandboxes().create(alice, std::move(spec), CreateOptions{}));
    if (made) return "made";
    EXPECT_EQ(made.error().code, Code::kUnsupported);
    EXPECT_EQ(made.error().message, "not here");
    EXPECT_TRUE(runtime.boots.empty()) << "it was refused before it booted";
    expect_nothing_left();
    return made.error().reason;
  }
  const Capability missing{"not here"};
};

TEST_F(CapableTest, CreationsAreRefusedBeforeTheyBoot) {
  SandboxSpec recorded = named("recorded");
  recorded.record_programs = true;
  runtime.can.programs = missing;
  EXPECT_EQ(refusal(recorded), "programs_unsupported");

  SandboxSpec in_memory = named("in-memory");
  in_memory.tmpfs = {{"/build", 1 << 20}};
  runtime.can.tmpfs = missing;
  EXPECT_EQ(refusal(in_memory), "tmpfs_unsupported");

  SandboxSpec guarded = named("guarded");
  guarded.hidden_paths = {"/secrets"};
  runtime.can.path_rules = missing;
  EXPECT_EQ(refusal(guarded), "paths_unsupported");
  guarded.hidden_paths.clear();
  guarded.read_only_paths = {"/repo"};
  EXPECT_EQ(refusal(guarded), "paths_unsupported");

  SandboxSpec strict = named("strict");
  strict.profile = "strict";
  runtime.can.profile(Profile::kStrict) = missing;
  EXPECT_EQ(refusal(strict), "profile_unsupported");

  SandboxSpec outward = named("outward");
  outward.policy = "packages";
  runtime.can.network = missing;
  EXPECT_EQ(refusal(outward), "network_unsupported");
}

// A request that names no policy gets a sandbox without a way out, as on a host that gives none.
TEST_F(CapableTest, WhatNoRequestNamesIsNoReasonToRefuse) {
  runtime.can.network = runtime.can.programs = runtime.can.tmpfs = missing;
  runtime.can.path_rules = missing;
  EXPECT_TRUE(create("usual"));
}

TEST_F(CapableTest, ALiveSandboxRefusesWhatItsRuntimeCannotDo) {
  ASSERT_TRUE(create("box"));
  runtime.only_box().echo_ports = {80};
  EXPECT_TRUE(run(core->tunnels().open(alice, "box", 80))) << "control";
  runtime.can.tunnels = runtime.can.pause = missing;
  EXPECT_EQ(run(core->tunnels().open(alice, "box", 80)).error().reason, "tunnels_unsupported");
  EXPECT_EQ(run(core->tunnels().hold(alice, "box")).error().reason, "tunnels_unsupported");
  LinkSpec service;
  service.port = 80;
  service.lifetime_s = 60;
  EXPECT_EQ(run(core->links().issue(alice, "box", service)).error().reason, "tunnels_unsupported");
  EXPECT_EQ(run(core->sandboxes().pause(alice, "box")).error().reason, "pause_unsupported");
  EXPECT_EQ(state("box"), SandboxState::kReady);
}

}  // namespace
}  // namespace cay::core
