#include "server/key_rule.h"

#include <gtest/gtest.h>

#include "server/guards.h"

namespace cay::server {
namespace {

using Form = http::KeyPlace::Form;
using Items = std::vector<std::pair<std::string, std::string>>;

http::RequestHead asking(const Items& headers) {
  http::RequestHead head;
  head.host = "localhost:1";
  for (const auto& [name, value] : headers) head.headers.add(name, value);
  return head;
}

TEST(KeyRuleTest, CaysOwnKeysComeInTwoHeaders) {
  const auto& rule = own_key_rule();
  EXPECT_EQ(key_of(asking({{"X-Api-Key", "a"}}), rule), "a");
  EXPECT_EQ(key_of(asking({{"Authorization", "bearer b"}}), rule), "b");
  EXPECT_EQ(key_of(asking({{"Authorization", "Bearer b"}, {"X-Api-Key", "a"}}), rule), "a");
  EXPECT_EQ(key_of(asking({{"Authorization", "Bearer b"}, {"X-Api-Key", ""}}), rule), "b");
  EXPECT_FALSE(key_of(asking({{"Authorization", "Basic b"}}), rule));
  EXPECT_FALSE(key_of(asking({{"Authorization", "Bearer "}}), rule));
  EXPECT_FALSE(key_of(asking({}), rule));
  EXPECT_EQ(how_to_send(rule), "send it as X-Api-Key or as Authorization: Bearer");
}

TEST(KeyRuleTest, AFacadesKeysComeWhereItSaysAndNowhereElse) {
  const http::KeyRule rule{{{"X-Other-Token"}}, "Other"};
  EXPECT_EQ(key_of(asking({{"x-other-token", "c"}}), rule), "c");
  EXPECT_FALSE(key_of(asking({{"X-Api-Key", "a"}, {"Authorization", "Bearer b"}}), rule));
  EXPECT_EQ(&key_rule_of(http::Facade{}), &own_key_rule());
  EXPECT_EQ(key_rule_of(http::Facade{.prefixes = {}, .key = rule}).challenge, "Other");
}

TEST(KeyRuleTest, ABasicPasswordIsAKey) {
  const http::KeyRule rule{{{"Authorization", Form::kBasicPassword}}, "Basic"};
  EXPECT_EQ(key_of(asking({{"Authorization", "Basic dXNlcjpjYXlfaw=="}}), rule), "cay_k");
  EXPECT_EQ(key_of(asking({{"Authorization", "basic OmNheTprZXk="}}), rule), "cay:key")
      << "no user, and a colon in the key";
  for (const char* bad : {"Basic dXNlcg==", "Basic dXNlcjo=", "Basic dXNlcjpj!Xlfaw==",
                          "Basic dXNlcjpjYXlfaw", "Basic ====", "Basic ", "Bearer cay_k"}) {
    EXPECT_FALSE(key_of(asking({{"Authorization", bad}}), rule)) << bad;
  }
}

// A browser sends Basic credentials for pages of other origins, too, so they prove nothing there.
TEST(KeyRuleTest, BasicCredentialsDoNotLetForeignPagesIn) {
  const http::KeyRule basic{{{"Authorization", Form::kBasicPassword}}, "Basic"};
  const Items headers{{"Origin", "https://evil.example"},
                      {"Authorization", "Basic dXNlcjpjYXlfaw=="}};
  EXPECT_TRUE(check_origin(asking(headers), basic));
  const http::KeyRule bearer{{{"Authorization", Form::kBearer}}, "Bearer"};
  EXPECT_FALSE(check_origin(
      asking({{"Origin", "https://evil.example"}, {"Authorization", "Bearer cay_k"}}), bearer))
      << "the control";
}

}  // namespace
}  // namespace cay::server
