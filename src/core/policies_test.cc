#include <algorithm>

#include "core/core_fixture.h"
#include "core/testing/fake_vault.h"

namespace cay::core {
namespace {

class PoliciesTest : public CoreTest {
 protected:
  void begin_with(const std::vector<policy::Definition>& own = {},
                  std::vector<std::string> allowed = {}) {
    config.defaults.policies = std::make_shared<const policy::Catalogue>(
        *policy::Catalogue::make(own, std::move(allowed)));
    ASSERT_TRUE(open());
  }
  Result<Sandbox> set(const std::string& words) {
    SandboxPatch patch;
    patch.policy = words;
    return run(core->sandboxes().update(alice, "box", patch));
  }
  Result<PolicyTrial> tried(const std::string& words, const std::string& host,
                            std::uint16_t port = 443) {
    return run(core->policies().try_policy(
        alice, {.sandbox = {}, .policy = words, .host = host, .port = port}));
  }
};

TEST_F(PoliciesTest, ASandboxHasAPresetOrRulesOfItsOwn) {
  begin_with();
  SandboxSpec spec = named("box");
  spec.policy = "pip, api.example.com, !*.evil.test";
  const auto made = run(core->sandboxes().create(alice, spec, CreateOptions{}));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->policy, "rules");
  EXPECT_EQ(made->rules, "@pip\napi.example.com\n!*.evil.test");
  EXPECT_EQ(runtime.boots.back().policy, "rules");
  EXPECT_EQ(runtime.boots.back().rules, made->rules);
  spec.name = "other";
  spec.policy = "models";
  EXPECT_EQ(run(core->sandboxes().create(alice, spec, CreateOptions{}))->policy, "models");
  spec.name = "third";
  spec.policy = "a b c";
  EXPECT_EQ(run(core->sandboxes().create(alice, spec, CreateOptions{})).error().reason,
            "invalid_policy");
}

TEST_F(PoliciesTest, AChangeIsRecordedFirstAndThenGoneBy) {
  begin_with();
  const auto made = create("box");
  ASSERT_TRUE(made);
  const auto changed = set("pip, a.test");
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(changed->rules, "@pip\na.test");
  EXPECT_EQ(runtime.policies.at(made->id),
            (std::pair<std::string, std::string>("rules", "@pip\na.test")));
  runtime.policy_error = Error{Code::kUnavailable, "policy_not_in_force", "no answer", 0};
  EXPECT_EQ(set("off").error().reason, "policy_not_in_force");
  EXPECT_EQ(store.rows.at(made->id).policy, "off") << "kept, so that it holds after whatever comes";
  EXPECT_EQ(store.rows.at(made->id).rules, "");
  runtime.policy_error.reset();
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  runtime.policies.clear();
  ASSERT_TRUE(set("open"));
  EXPECT_TRUE(runtime.policies.empty()) << "nothing runs that could go by it";
}

TEST_F(PoliciesTest, ASandboxThatWasStartedWithoutAWayOutGetsNoneByAChange) {
  begin_with();
  SandboxSpec spec = named("box");
  spec.policy = "off";
  ASSERT_TRUE(run(core->sandboxes().create(alice, spec, CreateOptions{})));
  ASSERT_TRUE(set("open"));
  EXPECT_TRUE(runtime.policies.empty());
}

TEST_F(PoliciesTest, AChangeWhileItBootsReachesTheBoot) {
  begin_with();
  runtime.hold_boots = true;
  auto making = begin(core->sandboxes().create(alice, named("box"), CreateOptions{}));
  ASSERT_TRUE(set("a.test"));
  EXPECT_EQ(runtime.policies.size(), 1U);
  runtime.release_boots();
  const auto made = finish(making);
  ASSERT_TRUE(made);
  EXPECT_EQ(runtime.in_force.at(made->id), (std::pair<std::string, std::string>("rules", "a.test")))
      << "not what it was begun with";
}

TEST_F(PoliciesTest, AChangeWhileItStartsAgainCountsAndOneThatCannotStopsTheStart) {
  begin_with();
  const auto made = create("box");
  ASSERT_TRUE(made);
  for (const bool fails : {false, true}) {
    ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
    ASSERT_TRUE(set("packages"));
    runtime.hold_boots = true;
    ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
    while (runtime.booting == 0) loop.run_one();
    if (fails)
      runtime.policy_error = Error{Code::kUnavailable, "policy_not_in_force", "no answer", 0};
    EXPECT_EQ(set("off").has_value(), !fails);
    runtime.release_boots();
    while (state("box") == SandboxState::kProvisioning) loop.run_one();
    EXPECT_EQ(state("box"), fails ? SandboxState::kFailed : SandboxState::kReady)
        << "not with what it was begun with";
    if (!fails) EXPECT_EQ(runtime.in_force.at(made->id).first, "off");
  }
}

TEST_F(PoliciesTest, NothingBeyondWhatTheOperatorAllows) {
  begin_with({{.name = "corp",
               .about = "ours",
               .rules = *policy::parse_rules("*.corp.test"),
               .adds = false}},
             {"off", "packages", "corp"});
  ASSERT_TRUE(create("box"));
  EXPECT_TRUE(set("pip, git.corp.test"));
  EXPECT_TRUE(set("corp"));
  for (const char* words : {"open", "models", "pip, evil.test", "*.test", "10.0.0.0/8"})
    EXPECT_EQ(set(words).error().reason, "policy_not_allowed") << words;
  const auto listed = run(core->policies().list(alice));
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->usual, "packages");
  const auto of = [&](const std::string& name) {
    return *std::ranges::find(listed->items, name, &PolicyInfo::name);
  };
  EXPECT_TRUE(of("corp").allowed);
  EXPECT_EQ(of("corp").origin, "operator");
  EXPECT_EQ(of("corp").rules, std::vector<std::string>{"*.corp.test"});
  EXPECT_TRUE(of("pip").allowed) << "a part of what is allowed";
  EXPECT_FALSE(of("open").allowed);
  EXPECT_EQ(of("open").otherwise, "allow");
}

TEST_F(PoliciesTest, ATrialSaysByWhichRule) {
  begin_with();
  EXPECT_TRUE(tried("packages", "PyPI.org.")->allowed);
  EXPECT_EQ(tried("packages", "pypi.org")->rule, "@pip: pypi.org:443");
  EXPECT_EQ(tried("packages", "pypi.org", 22)->reason, "port_not_in_policy");
  EXPECT_EQ(tried("packages", "pypi.org", 22)->needs, "pypi.org:22");
  EXPECT_EQ(tried("packages", "evil.test")->reason, "not_in_policy");
  EXPECT_EQ(tried("open, !evil.test", "evil.test")->rule, "!evil.test");
  EXPECT_EQ(tried("open", "10.0.0.1")->reason, "private_address");
  EXPECT_TRUE(tried("open", "198.51.100.1").has_value());
  EXPECT_EQ(tried("example.com", "8.8.8.8")->reason, "names_no_host");
  EXPECT_TRUE(tried("8.8.8.0/24", "8.8.8.8")->allowed);
  EXPECT_EQ(tried("open", "a b").error().reason, "invalid_policy");
  EXPECT_TRUE(tried("a.test:22", "a.test", 0)->allowed) << "its name alone";
  EXPECT_EQ(tried("pip", "deb.debian.org", 0)->needs, "deb.debian.org")
      << "nobody knows at which port it would have been asked";
  EXPECT_EQ(tried("pip", "deb.debian.org")->needs, "deb.debian.org:443") << "the control";
  EXPECT_EQ(tried("open", "8.8.8.8", 0).error().reason, "invalid_field");
  EXPECT_EQ(tried("a.test, !203.0.113.0/24", "a.test")->note,
            "refused where it leads to an address in 203.0.113.0/24");
  EXPECT_EQ(tried("a.test, 198.51.100.0/24:22", "a.test", 22)->note,
            "let through where it leads to an address in 198.51.100.0/24");
  EXPECT_EQ(tried("a.test, !203.0.113.0/28, !203.0.113.16/28, !203.0.113.32/28, !203.0.113.48/28",
                  "a.test")
                ->note,
            "refused where it leads to an address in 203.0.113.0/28, 203.0.113.16/28, "
            "203.0.113.32/28 and others");
  EXPECT_EQ(tried("a.test, 198.51.100.0/24:22", "a.test")->note, "") << "it is let through by name";
  EXPECT_EQ(tried("a.test, !203.0.113.0/24", "b.test")->note, "") << "its name is not looked up";
  ASSERT_TRUE(create("box"));
  ASSERT_TRUE(set("a.test"));
  const auto by_box = run(core->policies().try_policy(
      alice, {.sandbox = "box", .policy = {}, .host = "a.test", .port = 443}));
  ASSERT_TRUE(by_box);
  EXPECT_TRUE(by_box->allowed);
  EXPECT_EQ(run(core->policies().try_policy(
                    bob, {.sandbox = "box", .policy = {}, .host = "a.test", .port = 443}))
                .error()
                .reason,
            "sandbox_not_found");
}

TEST_F(PoliciesTest, ATrialOfASandboxGoesByItsProxyRulesToo) {
  testing::FakeVault vault;
  config.vault = &vault;
  begin_with();
  ASSERT_TRUE(run(core->secrets().set(alice, "github", {{"api.git.test"}}, "box")));
  ProxyRule secret, fence;
  secret.name = secret.secret = "github";
  fence.name = "fence";
  fence.hosts = {"api.test"};
  fence.paths = {"/v1/**"};
  SandboxSpec spec = named("box");
  spec.policy = "api.test";
  spec.proxy = {secret, fence};
  ASSERT_TRUE(run(core->sandboxes().create(alice, spec, CreateOptions{})));
  const auto of = [&](const std::string& host, std::uint16_t port = 443,
                      const std::string& path = {}) {
    return *run(core->policies().try_policy(
        alice, {.sandbox = "box", .policy = {}, .host = host, .port = port, .path = path}));
  };
  EXPECT_TRUE(of("api.git.test").allowed) << "no rule of the policy's has it";
  EXPECT_EQ(of("api.git.test").proxy_rule, "'github'");
  EXPECT_EQ(of("api.git.test").in_the_way, "");
  EXPECT_EQ(of("api.git.test", 80).reason, "not_in_policy");
  EXPECT_TRUE(of("api.git.test", 0).allowed && of("api.test", 0).allowed) << "to be looked up";
  EXPECT_EQ(of("git.test", 0).needs, "git.test") << "the control";
  EXPECT_TRUE(of("api.test").allowed);
  EXPECT_EQ(of("api.test").rule, "api.test");
  EXPECT_NE(of("api.test").note.find("/v1/**"), std::string::npos);
  EXPECT_EQ(of("api.test", 80).reason, "fenced");
  EXPECT_EQ(of("api.test", 443, "/v2").reason, "path_not_in_rule");
  ASSERT_TRUE(set("other.test"));
  EXPECT_EQ(of("api.test").needs, "api.test:443") << "a fence opens nothing";
  ASSERT_TRUE(set("off"));
  EXPECT_FALSE(of("api.git.test").allowed) << "off is off";
  ASSERT_TRUE(run(core->close(false)));
  core.reset();
}

TEST_F(PoliciesTest, WhatCountsFromTheNextStartAloneIsSaid) {
  begin_with();
  SandboxSpec spec = named("box");
  spec.policy = "off";
  ASSERT_TRUE(run(core->sandboxes().create(alice, spec, CreateOptions{})));
  ASSERT_TRUE(set("a.test"));
  const auto of_box = [&] {
    return *run(core->policies().try_policy(
        alice, {.sandbox = "box", .policy = {}, .host = "a.test", .port = 443}));
  };
  EXPECT_TRUE(of_box().allowed);
  EXPECT_NE(of_box().note.find("from its next start"), std::string::npos);
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  EXPECT_EQ(of_box().note, "") << "there is no other";
}

TEST_F(PoliciesTest, AChangeThatTheGateHasTakenIsWhatTheSandboxRunsBy) {
  begin_with();
  ASSERT_TRUE(create("box"));
  runtime.network_report.policy = "packages";  // its own report is older
  const auto runs_by = [&] {
    const auto report = run(core->inspection().network(alice, "box"));
    return report->running_policy +
           (report->running_rules.empty() ? "" : ": " + report->running_rules);
  };
  EXPECT_EQ(runs_by(), "packages");
  ASSERT_TRUE(set("open"));
  EXPECT_EQ(runs_by(), "open");
  ASSERT_TRUE(set("a.test"));
  EXPECT_EQ(runs_by(), "rules: a.test");
  runtime.policy_error = Error{Code::kUnavailable, "policy_not_in_force", "no answer", 0};
  EXPECT_FALSE(set("off"));
  EXPECT_EQ(runs_by(), "packages") << "it did not say that it goes by that";
  runtime.policy_error.reset();
  ASSERT_TRUE(set("open"));
  ASSERT_TRUE(run(core->sandboxes().stop(alice, "box")));
  ASSERT_TRUE(run(core->sandboxes().start(alice, "box")));
  while (state("box") == SandboxState::kProvisioning) loop.run_one();
  EXPECT_EQ(runs_by(), "packages") << "what was taken before the start is of another run";
}

TEST_F(PoliciesTest, WhatTheGateDoesNotGoByYetItIsToldAtTheStart) {
  begin_with();
  const auto made = create("box");
  ASSERT_TRUE(made);
  ASSERT_TRUE(set("a.test"));
  runtime.policies.clear();
  runtime.network_report.policy = "packages";  // the daemon ended between the record and the gate
  ASSERT_TRUE(open());                         // a restart
  EXPECT_EQ(runtime.policies.at(made->id).second, "a.test");
  runtime.policies.clear();
  runtime.network_report.policy = "rules";
  runtime.network_report.rules = "a.test";
  ASSERT_TRUE(open());  // a restart
  EXPECT_TRUE(runtime.policies.empty()) << "the control: it goes by it";
}

}  // namespace
}  // namespace cay::core
