#include "vault/connection_authorization.h"

#include <gtest/gtest.h>

namespace cay::vault {
namespace {

// The sealed form is the value with something before it.
Result<Wiped> unseal(const wire::VaultSecret& secret) {
  return Wiped(secret.sealed.substr(secret.sealed.find(':') + 1));
}

wire::VaultRule rule(ProxyWay way, const std::string& value = "sk-live-0123456789") {
  wire::VaultRule out;
  out.name = "api";
  out.token = "cay-token-AAAA";
  out.way = static_cast<std::uint8_t>(way);
  out.secret = {"t", "key", 1, {"api.test", "*.wild.test"}, "one:" + value};
  return out;
}

wire::VaultGrant grant(std::vector<wire::VaultRule> rules) {
  wire::VaultGrant out;
  out.sandbox_id = "s";
  out.rules = std::move(rules);
  return out;
}

class ConnectionAuthorizationTest : public ::testing::Test {
 protected:
  // A request of that connection, as it goes out by `by`.
  void ask(const wire::VaultGrant& by, const std::string& target = "/v1/x") {
    ClientRequest asked;
    asked.host = "api.test";
    asked.target = target;
    asked.headers.add("Host", "api.test");
    asked.headers.add("X-Api-Key", "cay-token-AAAA");
    const auto out = rewrite(by, asked, unseal);
    ASSERT_TRUE(out) << out.error().message;
    authorization.begin(std::move(asked), *out);
  }
  bool is_valid(const wire::VaultGrant& now) const { return authorization.is_valid(&now, unseal); }
  ConnectionAuthorization authorization{"api.test", 443};
};

TEST_F(ConnectionAuthorizationTest, WithoutARequestItStandsWhileItsHostIsOfARule) {
  EXPECT_TRUE(is_valid(grant({rule(ProxyWay::kHeaders, "another")})));
  EXPECT_FALSE(is_valid(grant({rule(ProxyWay::kBaseUrl)})));
  auto elsewhere = rule(ProxyWay::kHeaders);
  elsewhere.hosts = {"a.wild.test"};
  EXPECT_FALSE(is_valid(grant({elsewhere})));
  EXPECT_FALSE(is_valid(grant({})));
  EXPECT_FALSE(authorization.is_valid(nullptr, unseal));
  const ConnectionAuthorization base("", 80);
  const auto with_base = grant({rule(ProxyWay::kBaseUrl)}),
             without = grant({rule(ProxyWay::kHeaders)});
  EXPECT_TRUE(base.is_valid(&with_base, unseal));
  EXPECT_FALSE(base.is_valid(&without, unseal));
}

TEST_F(ConnectionAuthorizationTest, ARequestStandsWhileItWouldGoOutAsItDid) {
  const auto before = rule(ProxyWay::kHeaders);
  ask(grant({before}));
  EXPECT_TRUE(is_valid(grant({before})));
  auto other = before;
  other.name = "renamed";
  other.paths = {"/v1/*"};
  other.methods = {"GET", "POST"};
  other.secret.sealed = "two:sk-live-0123456789";
  auto more = rule(ProxyWay::kHeaders);
  more.hosts = {"a.wild.test"};
  EXPECT_TRUE(is_valid(grant({more, other})))
      << "another name, a path that has it, sealed anew, and a rule for another host";
  auto narrower = before;
  narrower.paths = {"/v2/*"};
  EXPECT_FALSE(is_valid(grant({narrower})));
  auto fenced = before;
  fenced.methods = {"POST"};
  EXPECT_FALSE(is_valid(grant({fenced})));
  auto renewed = before;
  renewed.secret.sealed = "one:sk-live-of-today";
  renewed.secret.version = 2;
  EXPECT_FALSE(is_valid(grant({renewed})));
  auto headers = before;
  headers.headers = {{"X-Key", "${SECRET}", ""}};
  EXPECT_FALSE(is_valid(grant({headers})));
  EXPECT_FALSE(is_valid(grant({})));
  authorization.end();
  EXPECT_TRUE(is_valid(grant({narrower}))) << "the next request is asked for anew";
}

TEST_F(ConnectionAuthorizationTest, AStandInThatWasSwappedIsOfItsRulesSecret) {
  const auto before = rule(ProxyWay::kPlaceholder);
  ask(grant({before}));
  EXPECT_TRUE(is_valid(grant({before})));
  auto renewed = before;
  renewed.secret.sealed = "one:sk-live-of-today";
  EXPECT_FALSE(is_valid(grant({renewed})));
  auto token = before;
  token.token = "cay-token-BBBB";
  EXPECT_FALSE(is_valid(grant({token})));
}

TEST_F(ConnectionAuthorizationTest, ASecretThatCannotBeOpenedEndsIt) {
  const auto now = grant({rule(ProxyWay::kHeaders)});
  ask(now);
  EXPECT_FALSE(authorization.is_valid(&now, [](const wire::VaultSecret&) -> Result<Wiped> {
    return Error{Code::kInvalidArgument, "bad_envelope", "no", 0};
  }));
}

}  // namespace
}  // namespace cay::vault
