#include "agent/llm/outward_proxy.h"

#include <gtest/gtest.h>

#include <map>

namespace cay::agent {
namespace {

Environment environment_of(std::map<std::string, std::string> values) {
  return [values = std::move(values)](const std::string& name) -> std::optional<std::string> {
    const auto found = values.find(name);
    if (found == values.end()) return std::nullopt;
    return found->second;
  };
}

TEST(OutwardProxyTest, EachSchemeHasItsVariable) {
  const auto environment = environment_of({{"HTTPS_PROXY", "http://u:p@secure.proxy:3128"},
                                           {"http_proxy", "plain.proxy"},
                                           {"ALL_PROXY", "http://all.proxy"}});
  const auto secure = outward_proxy("https://api.example/v1", environment);
  EXPECT_EQ(secure.host, "secure.proxy");
  EXPECT_EQ(secure.port, 3128);
  EXPECT_EQ(secure.authorization, "Basic dTpw");
  EXPECT_EQ(outward_proxy("http://api.example", environment).host, "plain.proxy");
  EXPECT_EQ(outward_proxy("https://a", environment_of({{"all_proxy", "x"}})).host, "x");
  EXPECT_EQ(outward_proxy("https://a", environment_of({{"HTTP_PROXY", "x"}})).host, "");
  EXPECT_EQ(outward_proxy("unix:///run/x", environment).host, "");
}

TEST(OutwardProxyTest, LoopbackAndListedHostsAreDirect) {
  const auto proxy = outward_proxy(
      "https://a", environment_of({{"HTTPS_PROXY", "p"}, {"NO_PROXY", "corp.example,10.0.0.0/8"}}));
  const auto at = [](const char* text) { return std::vector<IpAddress>{*IpAddress::parse(text)}; };
  EXPECT_TRUE(proxy.is_direct("localhost", {}));
  EXPECT_TRUE(proxy.is_direct("name", at("127.0.0.2")));
  EXPECT_TRUE(proxy.is_direct("::1", at("::1")));
  EXPECT_TRUE(proxy.is_direct("llm.corp.example", {}));
  EXPECT_TRUE(proxy.is_direct("name", at("10.1.2.3")));
  EXPECT_FALSE(proxy.is_direct("name", at("192.168.1.2")));
  EXPECT_FALSE(proxy.is_direct("api.example", at("9.9.9.9")));
}

TEST(OutwardProxyTest, AWrongOneNamesItsVariableAndNoPassword) {
  const auto got = outward_proxy(
      "https://a",
      environment_of({{"https_proxy", "socks5://u:secret@p"}, {"NO_PROXY", ".corp.example"}}));
  EXPECT_NE(got.unusable.find("https_proxy"), std::string::npos);
  EXPECT_EQ(got.unusable.find("secret"), std::string::npos);
  EXPECT_EQ(got.host, "");
  // Direct hosts are reached all the same.
  EXPECT_TRUE(got.is_direct("localhost", {}));
  EXPECT_TRUE(got.is_direct("llm.corp.example", {}));
  EXPECT_FALSE(got.is_direct("api.example", {}));
  EXPECT_EQ(outward_proxy("https://a", environment_of({})).unusable, "");
}

}  // namespace
}  // namespace cay::agent
