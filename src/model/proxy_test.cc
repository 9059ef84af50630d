#include "model/proxy.h"

#include <gtest/gtest.h>

namespace cay {
namespace {

TEST(ProxyHostTest, ExactWildcardAndPort) {
  const auto exact = parse_proxy_host("API.Example.com");
  ASSERT_TRUE(exact);
  EXPECT_TRUE(exact->matches("api.example.com", 443));
  EXPECT_FALSE(exact->matches("api.example.com", 8443));
  EXPECT_FALSE(exact->matches("evil-api.example.com", 443));
  const auto any = parse_proxy_host("*.example.com:8443");
  ASSERT_TRUE(any);
  EXPECT_TRUE(any->matches("a.example.com", 8443));
  EXPECT_TRUE(any->matches("a.b.example.com", 8443));
  EXPECT_FALSE(any->matches("example.com", 8443));
  EXPECT_FALSE(any->matches(".example.com", 8443));
  EXPECT_FALSE(any->matches("badexample.com", 8443));
  EXPECT_EQ(any->text(), "*.example.com:8443");
}

TEST(ProxyHostTest, WhatIsNoHost) {
  for (const char* text :
       {"", "*", "*.", "*.com", "a..b", ".a", "a.", "a b", "a/b", "a:0", "a:x", "a:99999",
        "192.0.2.1", "http://a.b", "a.b:443:1", "*.*.com", "a*b.com"}) {
    EXPECT_FALSE(parse_proxy_host(text)) << text;
  }
}

TEST(ProxyHostTest, WhatIsWithinAnother) {
  const auto covers = [](const char* one, const char* other) {
    return parse_proxy_host(one)->covers(*parse_proxy_host(other));
  };
  EXPECT_TRUE(covers("*.example.com", "a.example.com"));
  EXPECT_TRUE(covers("*.example.com", "*.a.example.com"));
  EXPECT_TRUE(covers("*.example.com", "*.example.com"));
  EXPECT_FALSE(covers("*.example.com", "example.com"));
  EXPECT_FALSE(covers("a.example.com", "*.example.com"));
  EXPECT_FALSE(covers("*.a.example.com", "*.example.com"));
  EXPECT_FALSE(covers("a.example.com", "a.example.com:8443"));
}

ProxyRule rule(ProxyWay way) {
  ProxyRule out;
  out.name = "my-api";
  out.secret = "key";
  out.way = way;
  out.token = "T";
  return out;
}

TEST(ProxyTest, RulesAreChecked) {
  const auto reason = [](ProxyRule one) {
    const auto checked = check_proxy_rules({std::move(one)});
    return checked ? std::string() : checked.error().message;
  };
  EXPECT_EQ(reason(rule(ProxyWay::kHeaders)), "");
  ProxyRule bad = rule(ProxyWay::kHeaders);
  bad.headers = {{"Authorization", "Bearer fixed", ""}};
  EXPECT_NE(reason(bad), "") << "no ${SECRET}";
  bad.headers = {{"Authorization", "Bearer ${SECRET}", ""}};
  EXPECT_EQ(reason(bad), "");
  bad.headers = {{"Authorization", "Bearer ${SECRET}\r\nX: y", ""}};
  EXPECT_NE(reason(bad), "");
  for (const char* own : {"Host", "connection", "Content-Length", "Transfer-Encoding",
                          "Sec-WebSocket-Key", "Accept-Encoding", "bad name", ""}) {
    bad.headers = {{own, "${SECRET}", ""}};
    EXPECT_NE(reason(bad), "") << own;
  }
  // As a server may read it, and what the broker takes out of what guests send.
  for (const char* own :
       {"Transfer_Encoding", "CONTENT_LENGTH", "content.length", "Range", "range", "If-Range",
        "if_range", "Request-Range", "TE", "Upgrade", "Expect", "Accept_Encoding",
        "Proxy-Authorization", "proxy_connection", "Keep_Alive", "Trailer",
        "Sec_WebSocket_Protocol", "sec-websocket-extensions"}) {
    bad.headers = {{own, "${SECRET}", ""}};
    EXPECT_NE(reason(bad).find("is Cay's own to set"), std::string::npos) << own;
  }
  for (const char* free :
       {"X-Range", "Range-Key", "Sec-WebSocket", "Content-Length2", "X-Api-Key"}) {
    bad.headers = {{free, "${SECRET}", ""}};
    EXPECT_EQ(reason(bad), "") << free;
  }
  bad.headers = {{"Authorization", "", "us:er"}};
  EXPECT_NE(reason(bad), "");
  bad.headers.clear();
  bad.hosts = {"192.0.2.1"};
  EXPECT_NE(reason(bad), "");
  bad.hosts.clear();
  for (const char* path : {"v1", "*", "/v1/../x", "/v1%2fx"}) {
    bad.paths = {path};
    EXPECT_NE(reason(bad), "") << path;
  }
  bad.paths = {"/v1/**"};
  for (const char* method : {"get", "", "GET,POST", "GET "}) {
    bad.methods = {method};
    EXPECT_NE(reason(bad), "") << method;
  }
  bad.methods = {"GET", "M-SEARCH"};
  EXPECT_EQ(reason(bad), "");
  bad.methods.clear();
  bad.paths.clear();
  bad.name = "a/b";
  EXPECT_NE(reason(bad), "");
  EXPECT_FALSE(check_proxy_rules({rule(ProxyWay::kHeaders), rule(ProxyWay::kHeaders)}))
      << "two of a name";
  ProxyRule named = rule(ProxyWay::kPlaceholder);
  named.headers = {{"X-Key", "", ""}};
  EXPECT_EQ(reason(named), "");
  named.headers = {{"X-Key", "${SECRET}", ""}};
  EXPECT_NE(reason(named), "");
}

TEST(ProxyTest, ARuleWithoutASecretIsAFenceAndNothingElse) {
  ProxyRule fence;
  fence.name = "fence";
  fence.hosts = {"api.test"};
  EXPECT_FALSE(check_proxy_rules({fence})) << "it says nothing";
  fence.methods = {"GET"};
  EXPECT_TRUE(check_proxy_rules({fence}));
  EXPECT_TRUE(ends_tls({fence}));
  ProxyRule other = fence;
  other.hosts.clear();
  EXPECT_FALSE(check_proxy_rules({other})) << "for no host";
  other = fence;
  other.way = ProxyWay::kBaseUrl;
  EXPECT_FALSE(check_proxy_rules({other}));
  other = fence;
  other.headers = {{"X-Key", "${SECRET}", ""}};
  EXPECT_FALSE(check_proxy_rules({other}));
}

TEST(ProxyTest, ValuesThatCanBeHeaders) {
  EXPECT_TRUE(check_secret_value("sk-12345678"));
  EXPECT_TRUE(check_secret_value("a b c d e"));
  for (const char* value : {"", "short", " leading-blank", "trailing-blank ", "line\nbreak-in-it",
                            "tab\tin-it-too", "\x80not-ascii"}) {
    EXPECT_FALSE(check_secret_value(value)) << value;
  }
  EXPECT_FALSE(check_secret_value(std::string(kMostSecretBytes + 1, 'x')));
}

TEST(ProxyTest, CommandsAreToldTheirWays) {
  auto env = proxy_env({rule(ProxyWay::kBaseUrl)});
  EXPECT_EQ(env.at("MY_API_API_KEY"), "T");
  EXPECT_EQ(env.at("MY_API_BASE_URL"), "http://192.0.0.3/my-api");
  EXPECT_FALSE(env.contains("SSL_CERT_FILE")) << "nothing ends TLS";
  ProxyRule own = rule(ProxyWay::kBaseUrl);
  own.env = {{"OPENAI_BASE_URL", "${BASE_URL}/v1"}, {"OPENAI_API_KEY", "${TOKEN}"}};
  env = proxy_env({own});
  EXPECT_EQ(env.at("OPENAI_BASE_URL"), "http://192.0.0.3/my-api/v1");
  EXPECT_EQ(env.at("OPENAI_API_KEY"), "T");
  EXPECT_EQ(env.size(), 2U);
  env = proxy_env({rule(ProxyWay::kPlaceholder)});
  EXPECT_EQ(env.at("MY_API_API_KEY"), "T");
  EXPECT_EQ(env.at("NODE_EXTRA_CA_CERTS"), "/etc/ssl/certs/cay-sandbox.pem");
  EXPECT_EQ(env.at("REQUESTS_CA_BUNDLE"), "/etc/ssl/certs/ca-certificates.crt");
  EXPECT_FALSE(proxy_env({rule(ProxyWay::kHeaders)}).contains("MY_API_API_KEY"));
}

}  // namespace
}  // namespace cay
