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
  EXPECT_TRUE(grants->grant(grant(kOther, ProxyWay::kBaseUrl))->empty()) << "no TLS is ended for it";
  reopen();
  ASSERT_TRUE(grants->of(kId));
  EXPECT_EQ(grants->of(kId)->authority->certificate(), *made);
  EXPECT_TRUE(grants->of(kOther));
  EXPECT_EQ(*grants->grant(grant(kId, ProxyWay::kPlaceholder)), *made) << "other rules, the same authority";
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
  EXPECT_EQ(grants->grant(wider).error().reason, "bad_envelope");
  auto theirs = grant(kId, ProxyWay::kHeaders);
  theirs.tenant = "u";
  EXPECT_FALSE(grants->grant(theirs)) << "of another tenant";
  theirs.rules[0].secret.tenant = "u";
  EXPECT_FALSE(grants->grant(theirs));
  auto outside = grant("../keyring", ProxyWay::kHeaders);
  EXPECT_FALSE(grants->grant(outside)) << "no path is made of anything but an id";
  EXPECT_TRUE(grants->grant(grant(kId, ProxyWay::kHeaders))) << "the control";
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
  const Unseal unseal = [this](const wire::VaultSecret& secret) { return keys->unseal(about_secret(secret), secret.sealed); };
  const auto has = [&](const char* id) { return grants->of(id) && secrets_of_host(grants->of(id)->grant, "api.test", unseal)->size() == 1; };
  auto second = grant(kId, ProxyWay::kHeaders);
  second.rules[0].secret.version = 2;
  second.rules[0].secret.sealed = *keys->seal(about_secret(second.rules[0].secret), "sk-live-of-today");
  ASSERT_TRUE(grants->grant(grant(kId, ProxyWay::kHeaders)));
  ASSERT_TRUE(grants->grant(grant(kOther, ProxyWay::kBaseUrl)));
  std::vector<std::string> told;
  grants->on_change = [&](const wire::BrokerRoutes& routes) { told.push_back(routes.sandbox_id + (routes.hosts.empty() ? "" : " " + routes.hosts[0])); };
  ASSERT_TRUE(grants->withdraw("t", "other", 9));
  ASSERT_TRUE(grants->withdraw("u", "key", 9));
  EXPECT_TRUE(told.empty() && has(kId) && has(kOther)) << "the control: another secret, another tenant";
  ASSERT_TRUE(grants->withdraw("t", "key", 2));
  EXPECT_EQ(told, (std::vector<std::string>{std::string(kId) + " api.test", kOther})) << "its host still does not go past the broker";
  EXPECT_FALSE(has(kId) || has(kOther));
  EXPECT_EQ(grants->grant(grant(kId, ProxyWay::kHeaders)).error().reason, "secret_withdrawn") << "a grant of the old value that was on its way";
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
  const Unseal unseal = [this](const wire::VaultSecret& secret) { return keys->unseal(about_secret(secret), secret.sealed); };
  Asked ask;
  ask.host = "api.test";
  ask.target = "/";
  ask.headers.add("Host", "api.test");
  ASSERT_TRUE(rewrite(grants->of(kId)->grant, ask, unseal));
  const std::filesystem::path file = temp.path() + "/" + kId + ".grant";
  std::filesystem::create_directory(file.string() + ".new");  // so that no other file comes to be there, for root neither
  EXPECT_FALSE(grants->grant(grant(kId, ProxyWay::kBaseUrl))) << "the control";
  EXPECT_TRUE(rewrite(grants->of(kId)->grant, ask, unseal)) << "what could not be granted changes nothing";
  EXPECT_TRUE(grants->withdraw("t", "key", 2)) << "complete all the same";
  EXPECT_EQ(rewrite(grants->of(kId)->grant, ask, unseal).error().reason, "secret_withdrawn");
  EXPECT_FALSE(std::filesystem::exists(file));
  reopen();
  EXPECT_FALSE(grants->of(kId)) << "of a broker that starts anew";
}

TEST_F(GrantsTest, TheGateIsToldOfEveryChange) {
  std::vector<std::string> told;
  grants->on_change = [&](const wire::BrokerRoutes& routes) { told.push_back(routes.sandbox_id + (routes.hosts.empty() ? " none" : " " + routes.hosts[0])); };
  ASSERT_TRUE(grants->grant(grant(kId, ProxyWay::kHeaders)));
  EXPECT_TRUE(grants->revoke({kId}));
  EXPECT_TRUE(grants->revoke({kId}));
  EXPECT_EQ(told, (std::vector<std::string>{std::string(kId) + " api.test", std::string(kId) + " none"}));
}

}  // namespace
}  // namespace cay::vault
