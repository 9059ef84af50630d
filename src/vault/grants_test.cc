#include "vault/grants.h"

#include <gtest/gtest.h>

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
  grants->keep_only({kId});
  EXPECT_FALSE(grants->of(kOther));
  grants->revoke(kId);
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

TEST_F(GrantsTest, TheGateIsToldOfEveryChange) {
  std::vector<std::string> told;
  grants->on_change = [&](const wire::BrokerRoutes& routes) { told.push_back(routes.sandbox_id + (routes.hosts.empty() ? " none" : " " + routes.hosts[0])); };
  ASSERT_TRUE(grants->grant(grant(kId, ProxyWay::kHeaders)));
  grants->revoke(kId);
  grants->revoke(kId);
  EXPECT_EQ(told, (std::vector<std::string>{std::string(kId) + " api.test", std::string(kId) + " none"}));
}

}  // namespace
}  // namespace cay::vault
