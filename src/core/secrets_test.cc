#include <algorithm>
#include <functional>

#include "async/bytes.h"
#include "async/event.h"
#include "core/core_fixture.h"
#include "core/testing/fake_vault.h"

namespace cay::core {
namespace {

class SecretsTest : public CoreTest {
 protected:
  SecretsTest() {
    config.vault = &vault;
    EXPECT_TRUE(open());
  }
  Result<SecretInfo> set(const std::string& name, std::optional<std::vector<std::string>> hosts,
                         const std::string& box = "box") {
    return run(core->secrets().set(alice, name, std::move(hosts), box));
  }
  static ProxyRule rule(const std::string& secret, ProxyWay way = ProxyWay::kBaseUrl) {
    ProxyRule out;
    out.name = out.secret = secret;
    out.way = way;
    return out;
  }
  Result<Sandbox> use(const std::string& box, std::vector<ProxyRule> rules) {
    SandboxPatch patch;
    patch.proxy = std::move(rules);
    return run(core->sandboxes().update(alice, box, std::move(patch)));
  }
  testing::FakeVault vault;
};

TEST_F(SecretsTest, ASecretIsKeptSealedReplacedAndRemoved) {
  auto made = set("openai", {{"API.openai.com"}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->version, 1U);
  EXPECT_EQ(made->hosts, std::vector<std::string>{"api.openai.com"});
  EXPECT_EQ(store.secret_rows.begin()->second.sealed, "sealed openai v1 box");
  made = set("openai", std::nullopt, "other");
  ASSERT_TRUE(made);
  EXPECT_EQ(made->version, 2U);
  EXPECT_EQ(made->hosts, std::vector<std::string>{"api.openai.com"});
  made = set("openai", {{"b.test", "a.test:443", "B.test", "a.test"}});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->hosts, (std::vector<std::string>{"b.test", "a.test"}))
      << "each once, in the order given";
  EXPECT_EQ(store.secret_rows.size(), 1U);
  EXPECT_EQ(set("new", std::nullopt).error().reason, "invalid_secret")
      << "a secret without a host could go anywhere";
  EXPECT_EQ(set("new", {{}}).error().reason, "invalid_secret");
  EXPECT_EQ(set("new", {{"1.2.3.4"}}).error().reason, "invalid_secret");
  EXPECT_EQ(set("a/b", {{"a.test"}}).error().reason, "invalid_secret");
  EXPECT_TRUE(run(core->secrets().remove(alice, "openai")));
  EXPECT_EQ(run(core->secrets().remove(alice, "openai")).error().reason, "secret_not_found");
  EXPECT_TRUE(store.secret_rows.empty());
}

TEST_F(SecretsTest, ATenantSeesAndUsesItsOwnAlone) {
  ASSERT_TRUE(set("openai", {{"a.test"}}));
  const Principal other{TenantId("other"), "k"};
  EXPECT_TRUE(run(core->secrets().list(other))->empty());
  EXPECT_EQ(run(core->secrets().list(alice))->size(), 1U);
  EXPECT_EQ(run(core->secrets().remove(other, "openai")).error().reason, "secret_not_found");
  SandboxSpec spec = named("theirs");
  spec.proxy = {rule("openai")};
  EXPECT_EQ(run(core->sandboxes().create(other, spec, {})).error().reason, "secret_not_found");
}

TEST_F(SecretsTest, RulesGoNoFurtherThanTheirSecret) {
  ASSERT_TRUE(set("openai", {{"api.test", "*.wild.test"}}));
  ASSERT_TRUE(create("box"));
  ProxyRule wide = rule("openai");
  wide.hosts = {"evil.test"};
  EXPECT_EQ(use("box", {wide}).error().reason, "host_not_allowed");
  wide.hosts = {"*.test"};
  EXPECT_EQ(use("box", {wide}).error().reason, "invalid_proxy_rule");
  wide.hosts = {"a.wild.test"};
  EXPECT_TRUE(use("box", {wide}));
  EXPECT_EQ(use("box", {rule("nobody")}).error().reason, "secret_not_found");
  ProxyRule open_end = rule("openai");
  open_end.hosts = {"*.wild.test"};
  EXPECT_EQ(use("box", {open_end}).error().reason, "invalid_proxy_rule")
      << "a base URL is one host's";
}

TEST_F(SecretsTest, WhatARuleSaysTwiceIsKeptOnce) {
  ASSERT_TRUE(set("openai", {{"api.test"}}));
  ASSERT_TRUE(create("box"));
  ProxyRule twice = rule("openai");
  twice.hosts = {"api.test", "api.test"};
  twice.methods = {"POST", "GET", "POST"};
  twice.paths = {"/v1/**", "/a", "/v1/**"};
  const auto made = use("box", {twice});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->proxy.at(0).hosts, std::vector<std::string>{"api.test"});
  EXPECT_EQ(made->proxy.at(0).methods, (std::vector<std::string>{"POST", "GET"}));
  EXPECT_EQ(made->proxy.at(0).paths, (std::vector<std::string>{"/v1/**", "/a"}));
}

TEST_F(SecretsTest, ASandboxIsGrantedWhatItMayAndNoMoreWhenItIsGone) {
  ASSERT_TRUE(set("openai", {{"api.test"}}));
  ASSERT_TRUE(set("other", {{"api.test"}}));
  SandboxSpec spec = named("box");
  spec.proxy = {rule("openai")};
  const auto made = run(core->sandboxes().create(alice, spec, {}));
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_TRUE(vault.granted.contains(made->id));
  EXPECT_EQ(vault.granted[made->id].rules.at(0).second.sealed, "sealed openai v1 box");
  const std::string token = made->proxy.at(0).token;
  EXPECT_TRUE(token.starts_with("cay-token-"));
  ASSERT_TRUE(set("openai", std::nullopt, "second"));
  EXPECT_EQ(vault.granted[made->id].rules.at(0).second.sealed, "sealed openai v2 second")
      << "a new value counts at once";
  auto changed = use("box", {rule("openai"), rule("other")});
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->proxy.at(0).token, token) << "the same rule keeps its token";
  EXPECT_NE(changed->proxy.at(1).token, token);
  ASSERT_TRUE(run(core->secrets().remove(alice, "openai")));
  ASSERT_EQ(vault.granted[made->id].rules.size(), 2U)
      << "nothing goes past a rule whose secret is gone";
  EXPECT_TRUE(vault.granted[made->id].rules.at(0).first.gone);
  EXPECT_EQ(vault.granted[made->id].rules.at(0).second.sealed, "");
  EXPECT_FALSE(vault.granted[made->id].rules.at(1).first.gone);
  ASSERT_TRUE(use("box", {}));
  EXPECT_FALSE(vault.granted.contains(made->id));
  ASSERT_TRUE(use("box", {rule("other")}));
  ASSERT_TRUE(run(core->sandboxes().remove(alice, "box")));
  drain();
  EXPECT_FALSE(vault.granted.contains(made->id));
}

TEST_F(SecretsTest, WhoUsesARemovedSecretIsToldAndMarkedUntilThereIsAnother) {
  ASSERT_TRUE(set("openai", {{"api.test"}}));
  SandboxSpec spec = named("box");
  spec.proxy = {rule("openai")};
  const auto made = run(core->sandboxes().create(alice, spec, {}));
  ASSERT_TRUE(made);
  const auto changes_told = [this] {
    return std::ranges::count(store.journal, "sandbox.updated", &EventRecord::type);
  };
  const Principal other{TenantId("other"), "k"};
  ASSERT_TRUE(run(core->secrets().set(other, "openai", {{"api.test"}}, "box")));
  SandboxSpec theirs = named("theirs");
  theirs.proxy = {rule("openai")};
  ASSERT_TRUE(run(core->sandboxes().create(other, theirs, {})));
  store.write_error = Error{Code::kUnavailable, "store_broken", "full", 0};
  EXPECT_FALSE(run(core->secrets().remove(alice, "openai")));
  store.write_error.reset();
  EXPECT_FALSE(run(core->sandboxes().get(alice, "box"))->proxy.at(0).gone) << "it was not removed";
  const auto users = run(core->secrets().remove(alice, "openai"));
  ASSERT_TRUE(users) << users.error().message;
  ASSERT_EQ(users->size(), 1U) << "of this tenant alone";
  EXPECT_EQ(users->at(0).name, "box");
  EXPECT_EQ(users->at(0).rules, std::vector<std::string>{"openai"});
  EXPECT_TRUE(run(core->sandboxes().get(alice, "box"))->proxy.at(0).gone);
  EXPECT_FALSE(run(core->sandboxes().get(other, "theirs"))->proxy.at(0).gone);
  EXPECT_EQ(vault.granted[made->id].rules.at(0).second.info.hosts,
            std::vector<std::string>{"api.test"})
      << "where to refuse";
  ASSERT_TRUE(open());
  drain();
  EXPECT_TRUE(vault.granted[made->id].rules.at(0).first.gone) << "over a restart";
  EXPECT_EQ(use("box", {rule("openai")}).error().reason, "secret_not_found");
  ASSERT_TRUE(set("openai", {{"api.test"}}, "again"));
  EXPECT_FALSE(run(core->sandboxes().get(alice, "box"))->proxy.at(0).gone);
  EXPECT_EQ(vault.granted[made->id].rules.at(0).second.sealed, "sealed openai v1 again");
  EXPECT_EQ(changes_told(), 0) << "its owner changed nothing";
  ProxyRule more = rule("openai", ProxyWay::kHeaders);
  more.name = "more";
  for (int twice = 0; twice < 2; ++twice) {
    ASSERT_TRUE(use("box", {rule("openai"), more}));
    EXPECT_EQ(changes_told(), 1) << "told once, and nothing where nothing changed";
  }
  EXPECT_EQ(store.journal.back().by, "alice");
}

TEST_F(SecretsTest, AFenceNeedsNoSecret) {
  ProxyRule fence;
  fence.name = "fence";
  fence.hosts = {"api.test"};
  fence.methods = {"GET"};
  ASSERT_TRUE(create("box"));
  const auto made = use("box", {fence});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->proxy.at(0).token, "");
  const auto& granted = vault.granted[made->id].rules.at(0);
  EXPECT_EQ(granted.second.info.name, "");
  EXPECT_FALSE(granted.first.gone);
}

TEST_F(SecretsTest, CommandsAreToldTheirTokensAndMayOverrideThem) {
  ASSERT_TRUE(set("openai", {{"api.test"}}));
  SandboxSpec spec = named("box");
  spec.proxy = {rule("openai")};
  spec.run.env["KEPT"] = "yes";
  const auto made = run(core->sandboxes().create(alice, spec, {}));
  ASSERT_TRUE(made);
  CommandSpec command;
  command.argv = {"true"};
  command.run.env["OPENAI_BASE_URL"] = "mine";
  const auto started = run(core->commands().start(alice, "box", command));
  ASSERT_TRUE(started);
  const auto& env = runtime.only_box().fake_commands().started.back().run.env;
  EXPECT_EQ(env.at("OPENAI_API_KEY"), made->proxy.at(0).token);
  EXPECT_EQ(env.at("OPENAI_BASE_URL"), "mine");
  EXPECT_EQ(env.at("KEPT"), "yes");
}

TEST_F(SecretsTest, ADaemonsStartTellsAllAgainAndTakesBackWhatIsGone) {
  ASSERT_TRUE(set("openai", {{"api.test"}}));
  SandboxSpec spec = named("box");
  spec.proxy = {rule("openai")};
  const auto made = run(core->sandboxes().create(alice, spec, {}));
  ASSERT_TRUE(made);
  vault.granted.clear();
  vault.granted[SandboxId("gone")] = {};
  ASSERT_TRUE(open());
  drain();
  EXPECT_TRUE(vault.granted.contains(made->id));
  EXPECT_FALSE(vault.granted.contains(SandboxId("gone")));
}

TEST_F(SecretsTest, ASecretThatCannotBeOpenedIsToldAndEndsNothingElse) {
  ASSERT_TRUE(set("openai", {{"api.test"}}));
  ASSERT_TRUE(set("torn", {{"torn.test"}}));
  vault.torn = {"torn"};
  SandboxSpec spec = named("box");
  spec.proxy = {rule("openai", ProxyWay::kHeaders), rule("torn", ProxyWay::kHeaders)};
  const auto made = run(core->sandboxes().create(alice, spec, {}));
  ASSERT_TRUE(made) << "it starts: " << made.error().message;
  ASSERT_FALSE(warnings.empty());
  EXPECT_NE(warnings.back().find("proxy rule 'torn'"), std::string::npos) << warnings.back();
  EXPECT_EQ(vault.granted[made->id].rules.size(), 2U);
  ProxyRule narrower = rule("openai", ProxyWay::kHeaders);
  narrower.paths = {"/v1/*"};
  const auto changed = use("box", {narrower, rule("torn", ProxyWay::kHeaders)});
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().reason, "secret_unusable");
  EXPECT_NE(changed.error().message.find("'torn'"), std::string::npos);
  EXPECT_EQ(vault.granted[made->id].rules.at(0).first.paths, std::vector<std::string>{"/v1/*"})
      << "and the rest is in force";
  EXPECT_TRUE(set("openai", std::nullopt, "second")) << "another secret's change is whole";
  EXPECT_EQ(vault.granted[made->id].rules.at(0).second.sealed, "sealed openai v2 second");
}

TEST_F(SecretsTest, WithoutABrokerASandboxWithRulesDoesNotStartAndOthersDo) {
  ASSERT_TRUE(set("openai", {{"api.test"}}));
  vault.fault = Error{Code::kUnavailable, "vault_unavailable", "down", 0};
  SandboxSpec spec = named("box");
  spec.proxy = {rule("openai")};
  EXPECT_EQ(run(core->sandboxes().create(alice, spec, {})).error().reason, "vault_unavailable");
  EXPECT_FALSE(run(core->sandboxes().get(alice, "box"))) << "nothing is left";
  EXPECT_TRUE(create("plain"));
  EXPECT_EQ(set("openai", std::nullopt).error().reason, "vault_unavailable");
  EXPECT_EQ(store.secret_rows.begin()->second.info.version, 1U);
}

class ChangedSecretTest : public SecretsTest {
 protected:
  ChangedSecretTest() {
    EXPECT_TRUE(set("key", {{"api.test"}}, "old"));
    for (const char* name : {"one", "two", "three"}) {
      SandboxSpec spec = named(name);
      spec.proxy = {rule("key")};
      const auto made = run(core->sandboxes().create(alice, spec, {}));
      EXPECT_TRUE(made);
      ids.push_back(made->id);
    }
  }
  // Returns each sandbox's value: "old", "new", or "none".
  std::string in_use() {
    std::string out;
    for (const SandboxId& id : ids) {
      const auto& rules = vault.granted[id].rules;
      const std::string sealed =
          rules.empty() || rules.at(0).second.sealed.empty() ? " none" : rules.at(0).second.sealed;
      out += (out.empty() ? "" : " ") + sealed.substr(sealed.rfind(' ') + 1);
    }
    return out;
  }
  std::vector<SandboxId> ids;
};

TEST_F(ChangedSecretTest, ItIsWithdrawnFromAllBeforeAnyIsGivenItAnew) {
  std::vector<std::string> between;
  vault.on_withdraw = [&] { between.push_back(in_use()); };
  EXPECT_EQ(in_use(), "old old old") << "the control";
  ASSERT_TRUE(set("key", std::nullopt, "new"));
  EXPECT_EQ(in_use(), "new new new");
  ASSERT_TRUE(run(core->secrets().remove(alice, "key")));
  EXPECT_EQ(in_use(), "none none none");
  EXPECT_EQ(between, (std::vector<std::string>{"none none none", "none none none"}));
}

TEST_F(ChangedSecretTest, AGrantThatFailsLeavesNobodyWithTheOldValueAndTheAnswerSaysSo) {
  vault.refused = {ids[0]};
  const auto failed = set("key", std::nullopt, "new");
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().reason, "secret_not_given");
  EXPECT_NE(failed.error().message.find("one"), std::string::npos) << failed.error().message;
  EXPECT_EQ(failed.error().message.find("two"), std::string::npos) << failed.error().message;
  EXPECT_EQ(in_use(), "none new new");
  EXPECT_EQ(store.secret_rows.begin()->second.info.version, 2U) << "it is kept, as is said";
  EXPECT_TRUE(run(core->secrets().remove(alice, "key"))) << "what nobody can use is removed";
  EXPECT_EQ(in_use(), "none none none");
  vault.refused.clear();
  ASSERT_TRUE(set("key", {{"api.test"}}, "first")) << "and its versions may begin anew";
  EXPECT_EQ(in_use(), "first first first");
}

TEST_F(ChangedSecretTest, ARemovalThatIsNotCompleteSaysSoAndIsAskedForAgain) {
  vault.withdraw_fault = Error{Code::kUnavailable, "vault_unavailable", "down", 0};
  vault.refused = {ids[1]};
  auto removed = run(core->secrets().remove(alice, "key"));
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().reason, "secret_not_withdrawn");
  EXPECT_NE(removed.error().message.find("two"), std::string::npos) << removed.error().message;
  EXPECT_EQ(in_use(), "none old none") << "the others are not left with it";
  EXPECT_TRUE(store.secret_rows.empty());
  EXPECT_EQ(run(core->secrets().remove(alice, "key")).error().reason, "secret_not_withdrawn");
  vault.withdraw_fault.reset();
  vault.refused.clear();
  EXPECT_TRUE(run(core->secrets().remove(alice, "key")));
  EXPECT_EQ(in_use(), "none none none");
  EXPECT_EQ(run(core->secrets().remove(alice, "key")).error().reason, "secret_not_found");
}

TEST_F(ChangedSecretTest, ABrokerThatCannotWithdrawIsToldOneByOne) {
  vault.withdraw_fault = Error{Code::kUnsupported, "unknown_verb", "of another release", 0};
  ASSERT_TRUE(set("key", std::nullopt, "new"));
  EXPECT_EQ(in_use(), "new new new");
  vault.refused = {ids[2]};
  EXPECT_EQ(set("key", std::nullopt, "newer").error().reason, "secret_not_withdrawn");
  EXPECT_EQ(in_use(), "newer newer new");
}

TEST_F(ChangedSecretTest, AGrantThatMeetsAChangeIsMadeAnew) {
  vault.least["key"] = 2;
  vault.on_withdraw = nullptr;
  EXPECT_EQ(use("one", {rule("key", ProxyWay::kHeaders)}).error().reason, "secret_withdrawn")
      << "the control: where nothing else comes, it fails";
  ASSERT_TRUE(set("key", std::nullopt, "new"));
  EXPECT_EQ(in_use(), "new new new");
}

TEST_F(SecretsTest, ARotationSealsAllAnewBeforeTheOldKeyGoes) {
  ASSERT_TRUE(set("one", {{"api.test"}}));
  ASSERT_TRUE(set("two", {{"api.test"}}));
  const auto rotated = run(core->secrets().rotate_key(alice));
  ASSERT_TRUE(rotated);
  EXPECT_EQ(*rotated, 2U);
  for (const auto& [key, row] : store.secret_rows) EXPECT_TRUE(row.sealed.ends_with(" again"));
  EXPECT_EQ(vault.ended, 1);
  store.write_error = Error{Code::kUnavailable, "store_broken", "full", 0};
  EXPECT_FALSE(run(core->secrets().rotate_key(alice)));
  EXPECT_EQ(vault.rotations, 2);
  EXPECT_EQ(vault.ended, 1) << "what the store could not take still needs the old key";
  store.write_error.reset();
}

class BrokerThatDiesTest : public SecretsTest {
 protected:
  BrokerThatDiesTest() {
    EXPECT_TRUE(set("key", {{"api.test"}}));
    SandboxSpec spec = named("box");
    spec.proxy = {rule("key", ProxyWay::kHeaders)};
    const auto made = run(core->sandboxes().create(alice, spec, {}));
    EXPECT_TRUE(made);
    if (made) id = made->id;
  }
  bool comes(const std::function<bool()>& condition) {
    const auto until = deadline_in(Millis(20'000));
    loop.restart();
    while (!condition() && std::chrono::steady_clock::now() < until) loop.run_one_until(until);
    return condition();
  }
  std::string trusted() {
    const ReadRange whole;
    auto file = run(runtime.only_box().read("/etc/ssl/certs/cay-sandbox.pem", FileAs{}, whole));
    if (!file) return "";
    const auto text = run(read_all(std::move(file->bytes), 1 << 20));
    return text ? std::string(*text) : std::string();
  }
  const Error away{Code::kUnavailable, "vault_unavailable", "down", 0};
  SandboxId id{""};
};

TEST_F(BrokerThatDiesTest, TheNextOneIsToldAll) {
  vault.granted.clear();
  vault.granted[SandboxId("withdrawn")] = {};
  vault.die();
  EXPECT_TRUE(comes([&] { return vault.granted.contains(id); }));
  EXPECT_FALSE(vault.granted.contains(SandboxId("withdrawn")));
}

TEST_F(BrokerThatDiesTest, ARemovedSecretIsTakenBackWhenBrokerAndDaemonMeet) {
  vault.fault = away;
  EXPECT_EQ(run(core->secrets().remove(alice, "key")).error().reason, "secret_not_withdrawn");
  ASSERT_TRUE(open()) << "another daemon, which remembers no removal";
  drain();
  EXPECT_EQ(vault.granted[id].rules.at(0).second.sealed, "sealed key v1 box")
      << "what the broker kept: it serves by it without a daemon";
  vault.fault.reset();
  EXPECT_TRUE(comes([&] { return vault.granted[id].rules.at(0).second.sealed.empty(); }));
  EXPECT_TRUE(vault.granted[id].rules.at(0).first.gone);
}

TEST_F(BrokerThatDiesTest, RulesThatWereTakenAwayAreTakenBackThoughNoneAreLeft) {
  vault.fault = away;
  EXPECT_EQ(run(core->secrets().remove(alice, "key")).error().reason, "secret_not_withdrawn");
  EXPECT_EQ(use("box", {}).error().reason, "vault_unavailable");
  ASSERT_TRUE(open());
  drain();
  ASSERT_TRUE(vault.granted.contains(id));
  vault.fault.reset();
  EXPECT_TRUE(comes([&] { return !vault.granted.contains(id); }));
}

TEST_F(BrokerThatDiesTest, OneWhoseGrantFailsIsToldAgain) {
  for (const Code code :
       {Code::kUnavailable, Code::kExhausted, Code::kPermissionDenied, Code::kInternal}) {
    vault.granted.clear();
    vault.refused = {id};
    vault.refused_as = code;
    const int before = vault.attended;
    vault.die();
    ASSERT_TRUE(comes([&] { return vault.attended > before + 1; }));
    EXPECT_FALSE(vault.granted.contains(id));
    vault.refused.clear();
    EXPECT_TRUE(comes([&] { return vault.granted.contains(id); }));
  }
}

TEST_F(BrokerThatDiesTest, WhatIsBeingRemovedKeepsItsRulesUntilNothingOfItRuns) {
  runtime.destroy_error = Error{Code::kUnavailable, "launcher_gone", "it does not answer", 0};
  EXPECT_FALSE(run(core->sandboxes().remove(alice, "box")));
  const int before = vault.attended;
  vault.die();
  ASSERT_TRUE(comes([&] { return vault.attended > before; }));
  drain();
  EXPECT_TRUE(vault.granted.contains(id)) << "its programs may still run, and its fences stand";
  runtime.destroy_error.reset();
  ASSERT_TRUE(open()) << "a daemon that goes on with the removal";
  EXPECT_TRUE(comes([&] { return !vault.granted.contains(id); }));
}

TEST_F(BrokerThatDiesTest, APausedOneTrustsItsNewAuthority) {
  ASSERT_TRUE(run(core->sandboxes().pause(alice, "box")));
  vault.certificate = "ANOTHER\n";
  ProxyRule other = rule("key", ProxyWay::kHeaders);
  other.name = "other";
  ASSERT_TRUE(use("box", {other}));
  ASSERT_TRUE(run(core->sandboxes().resume(alice, "box")));
  EXPECT_EQ(trusted(), "ANOTHER\n");
}

TEST_F(BrokerThatDiesTest, AnotherAuthorityIsTrustedAtOnce) {
  ASSERT_EQ(trusted(), "CERTIFICATE\n");
  vault.certificate = "ANOTHER\n";
  vault.die();
  EXPECT_TRUE(comes([&] { return trusted() == "ANOTHER\n"; }));
}

}  // namespace
}  // namespace cay::core
