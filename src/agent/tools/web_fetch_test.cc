// web_fetch against a server on loopback: its policy, redirects and bounds. And the text of HTML.
#include "agent/tools/web_fetch.h"

#include <gtest/gtest.h>

#include "agent/tools/html_text.h"
#include "async/testing.h"
#include "http/listener.h"

namespace cay::agent {
namespace {

using cay::testing::run;

asio::awaitable<void> serve_pages(std::shared_ptr<http::Exchange> exchange) {
  const std::string path = exchange->head().segments.empty() ? "" : exchange->head().segments[0];
  http::Response response;
  response.headers.add("Content-Type", path == "data" ? "image/png" : "text/html; charset=utf-8");
  response.body = "<title>T</title><p>path " + path + "</p>";
  if (path == "away") {
    response.status = 302;
    response.headers.add("Location", "http://elsewhere.invalid/");
  }
  if (path == "again") {
    response.status = 301;
    response.headers.add("Location", "/page?x=1");
  }
  if (path == "circle") {
    response.status = 301;
    response.headers.add("Location", "/circle");
  }
  if (path == "long") response.body = std::string(5000, 'x');
  co_await exchange->respond(std::move(response));
}

class WebFetchTest : public ::testing::Test {
 protected:
  WebFetchTest() : server(loop.get_executor(), {}, serve_pages) {
    auto port = server.start();
    EXPECT_TRUE(port);
    origin = "http://127.0.0.1:" + std::to_string(*port);
    policy.hosts = {"127.0.0.1"};
    policy.special_addresses = true;
    policy.max_bytes = 1000;
  }
  Result<WebPage> fetch(const std::string& path) {
    return run(loop, web_fetch(policy, origin + path));
  }

  asio::io_context loop;
  http::Listener server;
  std::string origin;
  WebPolicy policy;
};

TEST_F(WebFetchTest, FetchesAllowedHostsAndFollowsRedirects) {
  auto page = fetch("/again");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->url, origin + "/page?x=1");
  EXPECT_EQ(page_text(*page), "T\n\npath page");
  page = fetch("/long");
  EXPECT_TRUE(page->truncated);
  EXPECT_EQ(page->body.size(), 1000U);
  EXPECT_EQ(page_text(*fetch("/data")), "");
}

TEST_F(WebFetchTest, RefusesOtherHostsAlsoBehindARedirect) {
  EXPECT_EQ(fetch("/away").error().reason, "host_not_allowed");
  EXPECT_EQ(fetch("/circle").error().reason, "too_many_redirects");
  policy.hosts = {"example.com"};
  EXPECT_EQ(fetch("/page").error().reason, "host_not_allowed");
}

TEST_F(WebFetchTest, NeverDialsAPrivateAddress) {
  ASSERT_TRUE(fetch("/page"));  // the server is there
  policy.hosts = {"*"};
  policy.special_addresses = false;
  auto page = fetch("/page");
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().reason, "special_network");
  // A name that leads to one is no way round.
  page = run(loop, web_fetch(policy, "http://localhost" + origin.substr(origin.rfind(':'))));
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().reason, "special_network");
}

TEST(WebUrlTest, TakesPlainUrlsAlone) {
  const auto url = parse_web_url("HTTPS://A.b.:8443/x?y#z");
  ASSERT_TRUE(url);
  EXPECT_EQ(url->host, "a.b");
  EXPECT_EQ(url->target, "/x?y");
  EXPECT_EQ(parse_web_url("http://h?q")->target, "/?q");
  EXPECT_EQ(parse_web_url("http://[::1]:80/")->host, "[::1]");
  for (const char* bad : {"ftp://a/", "http://", "http:///x", "http://u@h/", "http://h/a b",
                          "file:///etc/passwd", "http://h\\@x/", "a.b/c"}) {
    EXPECT_FALSE(parse_web_url(bad)) << bad;
  }
}

TEST(WebUrlTest, HostsMatchByNameOrParent) {
  WebPolicy policy;
  EXPECT_FALSE(allows_host(policy, "a.b"));
  policy.hosts = {"docs.Example.com", "*.b.org"};
  EXPECT_TRUE(allows_host(policy, "docs.example.com"));
  EXPECT_FALSE(allows_host(policy, "example.com"));
  EXPECT_TRUE(allows_host(policy, "x.y.b.org"));
  EXPECT_FALSE(allows_host(policy, "b.org"));
  EXPECT_FALSE(allows_host(policy, "evilb.org"));
}

TEST(HtmlTextTest, KeepsTheTextAndItsLines) {
  EXPECT_EQ(html_text("<html><head><title>A &amp; B</title><style>p{}</style></head><body>"
                      "<h2>Head</h2><p>one\n  two</p><!-- no --><ul><li>x</li><li>y</li></ul>"
                      "<script>if (a<b) alert('</p>')</script><a href='>'>link</a>"),
            "A & B\n\n## Head\n\none two\n\n- x\n- y\nlink");
  EXPECT_EQ(html_text("<pre>a\n  b</pre>c"), "a\n  b\nc");
  EXPECT_EQ(html_text("1 &lt; 2 &#x41;&#66; &bogus; a<b"), "1 < 2 AB &bogus; a");
  EXPECT_EQ(html_text("<script>never ends"), "");
  EXPECT_EQ(html_text("2 < 3"), "2 < 3");
}

}  // namespace
}  // namespace cay::agent
