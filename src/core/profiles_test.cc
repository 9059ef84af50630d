// A sandbox's profile: the requested one, within the operator's limits, and for good.
#include "core/core_fixture.h"

namespace cay::core {
namespace {

class ProfilesTest : public CoreTest {
 protected:
  Result<Sandbox> create_with(const std::string& name, const std::string& profile) {
    SandboxSpec spec = named(name);
    spec.profile = profile;
    return run(core->sandboxes().create(alice, spec, CreateOptions{}));
  }
};

TEST_F(ProfilesTest, WhoAsksForNoneHasTheUsualOne) {
  ASSERT_TRUE(open());
  const auto made = create("box");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->profile, Profile::kDefault);
  EXPECT_EQ(runtime.boots.back().profile, Profile::kDefault);
  config.defaults.profiles.usual = Profile::kStrict;
  ASSERT_TRUE(open());
  EXPECT_EQ(create("other")->profile, Profile::kStrict);
  EXPECT_EQ(runtime.boots.back().profile, Profile::kStrict);
}

TEST_F(ProfilesTest, WhatIsAskedForIsBootedAndKeptOverAStopAndARestart) {
  ASSERT_TRUE(open());
  const auto made = create_with("box", "strict");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->profile, Profile::kStrict);
  EXPECT_EQ(runtime.boots.back().profile, Profile::kStrict);
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  ASSERT_TRUE(open());
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  drain();
  ASSERT_EQ(runtime.boots.size(), 2U);
  EXPECT_EQ(runtime.boots.back().profile, Profile::kStrict);
  EXPECT_EQ(run(core->sandboxes().get(alice, "box"))->profile, Profile::kStrict);
}

TEST_F(ProfilesTest, OnlyWhatThereIsAndWhatTheOperatorAllows) {
  ASSERT_TRUE(open());
  const auto unknown = create_with("box", "loose");
  EXPECT_EQ(unknown.error().reason, "invalid_profile");
  EXPECT_NE(unknown.error().message.find("strict, default, nested"), std::string::npos)
      << unknown.error().message;
  const auto refused = create_with("box", "nested");
  EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
  EXPECT_EQ(refused.error().reason, "profile_not_allowed");
  EXPECT_NE(refused.error().message.find("host.profiles"), std::string::npos);
  EXPECT_TRUE(runtime.boots.empty());
  config.defaults.profiles.allowed.push_back(Profile::kNested);
  ASSERT_TRUE(open());
  EXPECT_EQ(create_with("box", "nested")->profile, Profile::kNested);
}

TEST_F(ProfilesTest, WhatTheOperatorAllowsNoMoreIsStartedNoMoreAndStaysStopped) {
  config.defaults.profiles.allowed.push_back(Profile::kNested);
  ASSERT_TRUE(open());
  ASSERT_TRUE(create_with("box", "nested"));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  config.defaults.profiles.allowed = {Profile::kStrict, Profile::kDefault};
  ASSERT_TRUE(open());
  EXPECT_EQ(run(core->sandboxes().start(alice, "box")).error().reason, "profile_not_allowed");
  EXPECT_EQ(state("box"), SandboxState::kStopped);
  EXPECT_EQ(runtime.boots.size(), 1U);
  config.defaults.profiles.allowed.push_back(Profile::kNested);
  ASSERT_TRUE(open());
  EXPECT_TRUE(run(core->sandboxes().start(alice, "box"))) << "the control";
}

TEST(ProfileSettingsTest, AreChecked) {
  EXPECT_EQ(profiles_of({"strict"}, "strict")->usual, Profile::kStrict);
  EXPECT_EQ(profiles_of({"strict", "lax"}, "strict").error().reason, "invalid_profile");
  EXPECT_EQ(profiles_of({"strict"}, "default").error().reason, "profile_not_allowed");
  EXPECT_EQ(profiles_of({"strict"}, "").error().reason, "invalid_profile");
}

}  // namespace
}  // namespace cay::core
