#include "vault/grants.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "vault/testing/vault_fixture.h"

namespace cay::vault {
namespace {

using testing::kId;
using testing::kOther;

class GrantsTest : public testing::VaultFixture {
 protected:
  void reopen() {
    grants = std::make_unique<Grants>(directory.get(), *keys);
    grants->open();
  }
};

TEST_F(GrantsTest, WhatIsGrantedOutlivesTheBrokerWithItsAuthority) {
  const auto made = grants->grant(grant(kId, ProxyWay::kHeaders));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_NE(made->find("BEGIN CERTIFICATE"), std::string::npos);
  EXPECT_TRUE(grants->grant(grant(kOther, ProxyWay::kBaseUrl))->empty())
      << "no TLS is ended for it";
  reopen();
  ASSERT_TRUE(grants->of(kId));
  EXPECT_EQ(grants->of(kId)->authority->certificate(), *made);
  EXPECT_TRUE(grants->of(kOther));
  EXPECT_EQ(*grants->grant(grant(kId, ProxyWay::kPlaceholder)), *made)
      << "other rules, the same authority";
  EXPECT_TRUE(grants->keep_only({kId}));
  EXPECT_FALSE(grants->of(kOther));
  EXPECT_TRUE(grants->revoke({kId}));
  reopen();
  EXPECT_FALSE(grants->of(kId));
}

TEST_F(GrantsTest, NoSecretAndNoKeyLiesOnTheDiskInClear) {
  ASSERT_TRUE(grants->grant(grant(kId, ProxyWay::kHeaders)));
  std::ifstream in(temp.path() + "/" + kId + ".grant", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  EXPECT_NE(bytes.find("api.test"), std::string::npos) << "the control";
  EXPECT_EQ(bytes.find("sk-live"), std::string::npos);
  EXPECT_EQ(bytes.find("PRIVATE"), std::string::npos);
}

TEST_F(GrantsTest, ASecretThatWasMadeWiderIsNotTaken) {
  auto wider = grant(kId, ProxyWay::kHeaders);
  wider.rules[0].secret.hosts.push_back("evil.test");
  ASSERT_TRUE(grants->grant(wider));
  EXPECT_EQ(grants->of(kId)->unusable, std::vector<std::string>{"r"});
  EXPECT_EQ(grants->unseal(wider.rules[0].secret).error().reason, "secret_unusable");
  auto theirs = grant(kId, ProxyWay::kHeaders);
  theirs.tenant = "u";
  EXPECT_FALSE(grants->grant(theirs)) << "of another tenant";
  theirs.rules[0].secret.tenant = "u";
  ASSERT_TRUE(grants->grant(theirs));
  EXPECT_EQ(grants->of(kId)->unusable, std::vector<std::string>{"r"})
      << "a secret is not made theirs by its row";
  auto outside = grant("../keyring", ProxyWay::kHeaders);
  EXPECT_FALSE(grants->grant(outside)) << "no path is made of anything but an id";
  EXPECT_TRUE(grants->grant(grant(kId, ProxyWay::kHeaders))) << "the control";
}

TEST_F(GrantsTest, ARowThatCannotBeOpenedEndsItsOwnRuleAlone) {
  auto rules = grant(kId, ProxyWay::kHeaders);
  const auto add = [&](const std::string& name, ProxyWay way) -> wire::VaultRule& {
    rules.rules.push_back(grant(kId, way, name + ".test").rules[0]);
    rules.rules.back().name = name;
    return rules.rules.back();
  };
  add("torn", ProxyWay::kHeaders).secret.sealed.pop_back();
  add("older", ProxyWay::kPlaceholder).secret.sealed.front() = 'x';  // of a key that there is not
  wire::VaultRule& beside = add("beside", ProxyWay::kPlaceholder);
  beside.secret = rules.rules[2].secret;
  beside.hosts = beside.secret.hosts = {"api.test"};
  beside.token = "cay-token-BBBB";
  ASSERT_TRUE(grants->grant(rules));
  const auto now = grants->of(kId);
  EXPECT_EQ(now->unusable, (std::vector<std::string>{"torn", "older", "beside"}));
  const auto asked = [&](const std::string& host, const std::string& key) {
    ClientRequest one;
    one.host = host;
    one.target = "/";
    one.headers.add("Host", host);
    if (!key.empty()) one.headers.add("X-Api-Key", key);
    return rewrite(now->grant, one,
                   [this](const wire::VaultSecret& secret) { return grants->unseal(secret); });
  };
  const auto fine = asked("api.test", "");
  ASSERT_TRUE(fine) << fine.error().message;
  EXPECT_EQ(fine->headers.get("Authorization"), std::string("Bearer ") + testing::kSecret);
  for (const auto& [host, key] :
       {std::pair{"torn.test", ""}, std::pair{"api.test", "cay-token-BBBB"}}) {
    const auto refused = asked(host, key);
    ASSERT_FALSE(refused) << host;
    EXPECT_EQ(refused.error().reason, "secret_unusable");
    EXPECT_EQ(refused.error().code, Code::kPermissionDenied);
    EXPECT_NE(refused.error().message.find("'key'"), std::string::npos) << "it is told which";
  }
  EXPECT_TRUE(intercepts(now->grant, "torn.test", 443)) << "else it would go out past the broker";
  reopen();
  ASSERT_TRUE(grants->of(kId));
}

TEST_F(GrantsTest, ALateWordUndoesNoNewerOne) {
  const auto at = [](std::uint64_t number) { return wire::VaultTurn{"d", number}; };
  const auto with = [&](const wire::VaultTurn& turn, const std::string& host) {
    auto out = grant(kId, ProxyWay::kHeaders, host);
    out.turn = turn;
    return out;
  };
  const auto host = [&] { return grants->of(kId)->grant.rules.at(0).secret.hosts.at(0); };
  int changes = 0;
  grants->on_change = [&](const wire::BrokerRoutes&) { ++changes; };
  const auto certificate = grants->grant(with(at(5), "new.test"));
  ASSERT_TRUE(certificate);
  EXPECT_EQ(*grants->grant(with(at(4), "old.test")), *certificate) << "what counts is answered";
  EXPECT_EQ(host(), "new.test");
  EXPECT_TRUE(grants->revoke({kId}, at(3)));
  EXPECT_TRUE(grants->keep_only({}, at(3)));
  EXPECT_TRUE(grants->of(kId));
  EXPECT_EQ(changes, 1);
  ASSERT_TRUE(grants->grant(with(at(5), "new.test"))) << "asked again";
  EXPECT_EQ(changes, 2);
  reopen();
  ASSERT_TRUE(grants->grant(with(at(4), "old.test")));
  EXPECT_EQ(host(), "new.test") << "after a restart of the broker, too";
  EXPECT_TRUE(grants->revoke({kId}, at(7)));
  EXPECT_EQ(*grants->grant(with(at(6), "old.test")), "");
  EXPECT_FALSE(grants->of(kId)) << "what is gone stays gone";
  // A daemon that was started anew, and the one before it.
  grants->received(at(8));
  grants->received({"e", 1});
  ASSERT_TRUE(grants->grant(with({"e", 1}, "newest.test")));
  ASSERT_TRUE(grants->grant(with(at(99), "old.test")));
  EXPECT_EQ(host(), "newest.test");
  // An older release's, which has no turns.
  ASSERT_TRUE(grants->grant(with({}, "plain.test")));
  EXPECT_EQ(host(), "plain.test");
}

TEST_F(GrantsTest, ARotationKeepsAuthorities) {
  const auto made = grants->grant(grant(kId, ProxyWay::kHeaders));
  ASSERT_TRUE(keys->begin_rotation());
  ASSERT_TRUE(grants->grant(grant(kId, ProxyWay::kHeaders)));
  ASSERT_TRUE(grants->reseal());
  ASSERT_TRUE(keys->end_rotation());
  reopen();
  ASSERT_TRUE(grants->of(kId));
  EXPECT_EQ(grants->of(kId)->authority->certificate(), *made);
}

TEST_F(GrantsTest, ASecretThatIsWithdrawnIsNobodysUntilItIsGivenAnew) {
  const Unseal unseal = [this](const wire::VaultSecret& secret) {
    return keys->unseal(about_secret(secret), secret.sealed);
  };
  const auto has = [&](const char* id) {
    return grants->of(id) &&
           secrets_of_host(grants->of(id)->grant, "api.test", unseal)->size() == 1;
  };
  auto second = grant(kId, ProxyWay::kHeaders);
  second.rules[0].secret.version = 2;
  second.rules[0].secret.sealed =
      *keys->seal(about_secret(second.rules[0].secret), "sk-live-of-today");
  ASSERT_TRUE(grants->grant(grant(kId, ProxyWay::kHeaders)));
  ASSERT_TRUE(grants->grant(grant(kOther, ProxyWay::kBaseUrl)));
  std::vector<std::string> told;
  grants->on_change = [&](const wire::BrokerRoutes& routes) {
    told.push_back(routes.sandbox_id + (routes.hosts.empty() ? "" : " " + routes.hosts[0]));
  };
  ASSERT_TRUE(grants->withdraw("t", "other", 9));
  ASSERT_TRUE(grants->withdraw("u", "key", 9));
  EXPECT_TRUE(told.empty() && has(kId) && has(kOther))
      << "the control: another secret, another tenant";
  ASSERT_TRUE(grants->withdraw("t", "key", 2));
  EXPECT_EQ(told, (std::vector<std::string>{std::string(kId) + " api.test", kOther}))
      << "its host still does not go past the broker";
  EXPECT_FALSE(has(kId) || has(kOther));
  EXPECT_EQ(grants->grant(grant(kId, ProxyWay::kHeaders)).error().reason, "secret_withdrawn")
      << "a grant of the old value that was on its way";
  EXPECT_FALSE(has(kId));
  const auto broker_anew = [&] {
    reopen();
    return !has(kId) && !has(kOther) && grants->of(kId);
  };
  EXPECT_TRUE(broker_anew());
  EXPECT_TRUE(grants->grant(second));
  EXPECT_TRUE(has(kId));
}

TEST_F(GrantsTest, AWithdrawalThatCannotBeWrittenCountsAndLeavesNothingOnTheDisk) {
  ASSERT_TRUE(grants->grant(grant(kId, ProxyWay::kHeaders)));
  const Unseal unseal = [this](const wire::VaultSecret& secret) {
    return keys->unseal(about_secret(secret), secret.sealed);
  };
  ClientRequest ask;
  ask.host = "api.test";
  ask.target = "/";
  ask.headers.add("Host", "api.test");
  ASSERT_TRUE(rewrite(grants->of(kId)->grant, ask, unseal));
  const std::filesystem::path file = temp.path() + "/" + kId + ".grant";
  std::filesystem::create_directory(
      file.string() + ".new");  // so that no other file comes to be there, for root neither
  std::filesystem::create_directory(temp.path() + "/" + kOther + ".grant.new");
  EXPECT_FALSE(grants->grant(grant(kOther, ProxyWay::kBaseUrl))) << "the control";
  EXPECT_FALSE(grants->of(kOther)) << "what it never had, it does not get";
  EXPECT_TRUE(grants->withdraw("t", "key", 2)) << "complete all the same";
  EXPECT_EQ(rewrite(grants->of(kId)->grant, ask, unseal).error().reason, "secret_withdrawn");
  EXPECT_FALSE(std::filesystem::exists(file));
  reopen();
  EXPECT_FALSE(grants->of(kId)) << "of a broker that starts anew";
}

TEST_F(GrantsTest, WhatIsTakenAwayCountsThoughItCannotBeWritten) {
  ASSERT_TRUE(grants->grant(grant(kId, ProxyWay::kHeaders)));
  std::filesystem::create_directory(temp.path() + "/" + kId + ".grant.new");
  wire::VaultGrant gone = grant(kId, ProxyWay::kHeaders);
  gone.rules.at(0).gone = true;
  EXPECT_FALSE(grants->grant(gone)) << "it is to be told again";
  EXPECT_TRUE(grants->of(kId)->grant.rules.at(0).gone);
  reopen();
  EXPECT_FALSE(grants->of(kId))
      << "nor is it found by a broker that starts anew: the daemon tells it";
}

TEST_F(GrantsTest, TheGateIsToldOfEveryChange) {
  std::vector<std::string> told;
  grants->on_change = [&](const wire::BrokerRoutes& routes) {
    told.push_back(routes.sandbox_id + (routes.hosts.empty() ? " none" : " " + routes.hosts[0]));
  };
  ASSERT_TRUE(grants->grant(grant(kId, ProxyWay::kHeaders)));
  EXPECT_TRUE(grants->revoke({kId}));
  EXPECT_TRUE(grants->revoke({kId}));
  EXPECT_EQ(told,
            (std::vector<std::string>{std::string(kId) + " api.test", std::string(kId) + " none"}));
}

TEST_F(GrantsTest, OneThatCannotBeOpenedIsNobodysUntilItIsGivenAnew) {
  ASSERT_TRUE(grants->grant(grant(kId, ProxyWay::kHeaders)));
  ASSERT_TRUE(grants->grant(grant(kOther, ProxyWay::kHeaders)));
  const std::string file = temp.path() + "/" + kId + ".grant";
  std::filesystem::resize_file(file, 200);
  ::testing::internal::CaptureStderr();
  reopen();
  const std::string told = ::testing::internal::GetCapturedStderr();
  EXPECT_NE(told.find(std::string(kId) + ".grant cannot be opened"), std::string::npos) << told;
  EXPECT_EQ(told.find(kOther), std::string::npos) << told;
  EXPECT_FALSE(grants->of(kId));
  EXPECT_TRUE(grants->of(kOther));
  ASSERT_TRUE(grants->grant(grant(kId, ProxyWay::kHeaders)));
  reopen();
  EXPECT_TRUE(grants->of(kId));
  std::filesystem::resize_file(file, 0);
  reopen();
  ASSERT_TRUE(grants->keep_only({kOther}));
  EXPECT_FALSE(std::filesystem::exists(file)) << "of a sandbox that has no rules any more";
  EXPECT_TRUE(grants->of(kOther));
}

TEST_F(GrantsTest, ADaemonThatTellsAllAgainUndoesNoWithdrawalOfItsOwn) {
  auto old = grant(kId, ProxyWay::kHeaders);
  old.turn = {"d", 1};
  ASSERT_TRUE(grants->keep_only({}, {"d", 0}));
  ASSERT_TRUE(grants->withdraw("t", "key", 2));
  ASSERT_TRUE(grants->keep_only({kId}, {"d", 2}));
  old.turn = {"d", 3};  // put together before the withdrawal, and late
  EXPECT_EQ(grants->grant(old).error().reason, "secret_withdrawn");
  ASSERT_TRUE(grants->keep_only({kId}, {"another", 1}));
  old.turn = {"another", 2};
  EXPECT_TRUE(grants->grant(old)) << "its secret of that name may be another one";
}

}  // namespace
}  // namespace cay::vault
