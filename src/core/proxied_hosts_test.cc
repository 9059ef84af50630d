#include "core/proxied_hosts.h"

#include <gtest/gtest.h>

namespace cay::core {
namespace {

using Kind = ProxiedHost::Kind;

ProxiedHost rule_of(const char* name, const char* host, Kind kind,
                    std::vector<std::string> methods = {}, std::vector<std::string> paths = {}) {
  return {.rule = name,
          .host = *parse_proxy_host(host),
          .kind = kind,
          .gone = false,
          .methods = std::move(methods),
          .paths = std::move(paths)};
}

TEST(ProxiedHostsTest, AFenceIsTheHostsAloneAndByTls) {
  const std::vector<ProxiedHost> all = {
      rule_of("f", "api.test", Kind::kFence, {"GET"}, {"/v1/**"})};
  EXPECT_EQ(by_proxy(all, "other.test", 443, "").rules, "");
  EXPECT_EQ(by_proxy(all, "api.test", 22, "").rules, "") << "another port is the policy's";
  EXPECT_EQ(by_proxy(all, "api.test", 80, "").reason, "fenced");
  EXPECT_EQ(by_proxy(all, "api.test", 80, "").rules, "'f'");
  const ByProxy told = by_proxy(all, "api.test", 443, "");
  EXPECT_EQ(told.reason, "");
  EXPECT_FALSE(told.opens);
  EXPECT_EQ(told.note, "by TLS alone, GET of /v1/**");
  EXPECT_EQ(by_proxy(all, "api.test", 443, "/v2").reason, "path_not_in_rule");
  EXPECT_EQ(by_proxy(all, "api.test", 443, "/v1/models").reason, "");
}

TEST(ProxiedHostsTest, RulesOfAHostAddUp) {
  const std::vector<ProxiedHost> all = {
      rule_of("f", "*.corp.test", Kind::kFence, {"GET"}),
      rule_of("s", "api.corp.test", Kind::kSecret, {"POST"}, {"/v1/files"})};
  EXPECT_TRUE(by_proxy(all, "api.corp.test", 443, "").opens);
  EXPECT_EQ(by_proxy(all, "api.corp.test", 443, "").note,
            "by TLS alone, GET of every path, or POST of /v1/files");
  EXPECT_EQ(by_proxy(all, "api.corp.test", 443, "/v2").note, "by TLS alone, GET of every path");
  const std::vector<ProxiedHost> wide = {rule_of("s", "api.corp.test", Kind::kSecret)};
  EXPECT_EQ(by_proxy(wide, "api.corp.test", 443, "/v2").note, "");
}

TEST(ProxiedHostsTest, APathThatCouldBeReadOtherwiseIsTheBrokers) {
  const std::vector<ProxiedHost> all = {rule_of("f", "api.test", Kind::kFence, {}, {"/v1/*"})};
  for (const char* path : {"/v2/../v1/a", "/%76/a", "//v1/a", "/v1/./a", "/v1\\a", "/v2/..;x/a"}) {
    EXPECT_EQ(by_proxy(all, "api.test", 443, path).reason, "") << path;
    EXPECT_NE(by_proxy(all, "api.test", 443, path).note.find("judged when it is used"),
              std::string::npos)
        << path;
  }
  for (const char* path : {"/v2", "/", "/v1/a/", "/v1/a.b;c=d/e"})
    EXPECT_EQ(by_proxy(all, "api.test", 443, path).reason, "path_not_in_rule") << path;
}

TEST(ProxiedHostsTest, WithoutItsSecretARuleRefusesAndAnotherAddressesRuleIsNone) {
  std::vector<ProxiedHost> all = {rule_of("s", "api.test", Kind::kSecret)};
  all[0].gone = true;
  EXPECT_EQ(by_proxy(all, "api.test", 443, "").reason, "secret_gone");
  all[0].kind = Kind::kBaseUrl;
  EXPECT_EQ(by_proxy(all, "api.test", 443, "").rules, "");
}

}  // namespace
}  // namespace cay::core
