// Facades with keys and refusals of their own, and requests that their headers divert.
#include "server/testing/dispatch_fixture.h"

namespace cay::server::testing {
namespace {

constexpr const char* kOtherKey = "X-Other-Token: cay_secret\r\n";

http::Response other_refusal(const http::RequestHead&, int status, const Error& error) {
  return http::json_response(status, "{\"other\":\"" + error.reason + "\"}");
}

http::Facade other_facade(std::vector<std::string> without_key = {}) {
  return {.prefixes = {"/other"},
          .refusal = other_refusal,
          .key = http::KeyRule{{{"X-Other-Token"}}, "Other realm=\"x\""},
          .without_key = std::move(without_key)};
}

http::Handler saying(std::string text) {
  return [text = std::move(text)](SharedExchange exchange) -> asio::awaitable<void> {
    http::Response response;
    response.body = text + " " + exchange->principal().key_name;
    for (const auto& [name, value] : exchange->params()) response.body += " " + name + "=" + value;
    co_await exchange->respond(std::move(response));
  };
}

struct FacadesTest : DispatchTest {
  FacadesTest() {
    router.declare(other_facade());
    router.add("GET", "/other/{name}", saying("other"));
    router.add("GET", "/otherwise", saying("own"));
  }
};

TEST_F(FacadesTest, EachTakesTheKeyOfItsOwnHeader) {
  start();
  EXPECT_TRUE(ask("GET /other/b", kOtherKey).ends_with("other alice name=b"));
  EXPECT_TRUE(ask("GET /%6fther/b", kOtherKey).ends_with("other alice name=b"));
  EXPECT_TRUE(ask("GET /boxes/b", kKey).ends_with("alice name=b"));
  EXPECT_TRUE(ask("GET /otherwise", kKey).ends_with("own alice")) << "a prefix ends at a segment";
  for (const auto& [line, headers] :
       {std::pair("GET /other/b", kKey), std::pair("GET /other/b", ""),
        std::pair("GET /%6fther/b", kKey), std::pair("GET /boxes/b", kOtherKey),
        std::pair("GET /otherwise", kOtherKey),
        std::pair("GET /other/b", "X-Other-Token: Bearer cay_secret\r\n")}) {
    EXPECT_TRUE(ask(line, headers).starts_with("HTTP/1.1 401 ")) << line << " " << headers;
  }
}

TEST_F(FacadesTest, EachRefusesInItsOwnWords) {
  start();
  const auto missing = ask("GET /other/b");
  EXPECT_TRUE(missing.ends_with("{\"other\":\"no_key\"}")) << missing;
  EXPECT_NE(missing.find("WWW-Authenticate: Other realm=\"x\"\r\n"), std::string::npos);
  EXPECT_TRUE(ask("GET /other/b", "X-Other-Token: x\r\n").ends_with("{\"other\":\"unknown_key\"}"));
  EXPECT_TRUE(ask("GET /other/b/c", kOtherKey).ends_with("{\"other\":\"no_such_route\"}"));
  const auto own = ask("GET /boxes/b");
  EXPECT_NE(own.find("send it as X-Api-Key or as Authorization: Bearer"), std::string::npos);
  EXPECT_NE(own.find("WWW-Authenticate: Bearer realm=\"cay\"\r\n"), std::string::npos);
}

TEST_F(FacadesTest, AForeignPageNeedsTheKeyOfTheFacadesHeader) {
  start();
  constexpr const char* kPage = "Origin: https://evil.example\r\n";
  EXPECT_TRUE(ask("GET /other/b", std::string(kPage) + kKey).starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(ask("GET /other/b", std::string(kPage) + kOtherKey).starts_with("HTTP/1.1 200 "));
}

TEST(FacadesDeathTest, NoRouteIsWithoutAKeyUnlessItsFacadeListsIt) {
  http::Router router;
  router.declare(other_facade({"GET /other/health"}));
  router.add("GET", "/other/health", who, http::Auth::kNone);
  EXPECT_DEATH(router.add("POST", "/other/health", who, http::Auth::kNone), "lists_without_key");
  EXPECT_DEATH(router.add("GET", "/other/secret", who, http::Auth::kNone), "lists_without_key");
  EXPECT_DEATH(router.add("GET", "/other/secret", who, http::Auth::kOwn), "lists_without_key");
}

// The header names a sandbox, so that the same paths mean the sandbox's own.
struct DivertedTest : FacadesTest {
  DivertedTest() {
    auto table = std::make_shared<http::Router>();
    auto facade = other_facade({"GET /healthz"});
    facade.prefixes = {"/"};
    table->declare(std::move(facade));
    table->add("GET", "/healthz", saying("diverted"), http::Auth::kNone);
    table->add("GET", "/files", saying("diverted"));
    router.divert(
        [](const http::RequestHead& head) { return head.headers.get("X-Other-Box").has_value(); },
        std::move(table));
    auto later = std::make_shared<http::Router>();
    later->add("*", "/{rest...}", saying("later"));
    router.divert(
        [](const http::RequestHead& head) { return head.headers.get("X-Later").has_value(); },
        std::move(later));
  }
  static constexpr const char* kBox = "X-Other-Box: a\r\n";
};

TEST_F(DivertedTest, AHeaderComesBeforeThePath) {
  start();
  EXPECT_TRUE(ask("GET /healthz").ends_with("\r\n\r\n"));
  EXPECT_TRUE(ask("GET /healthz", kBox).ends_with("diverted "));
  EXPECT_TRUE(ask("GET /files", std::string(kBox) + kOtherKey).ends_with("diverted alice"));
  EXPECT_EQ(last().route, "/files");
  EXPECT_TRUE(ask("GET /files", kKey).starts_with("HTTP/1.1 404 ")) << "only with the header";
}

TEST_F(DivertedTest, ADivertedRequestHasNoOtherRoutesAndNoOtherKey) {
  start();
  EXPECT_TRUE(ask("GET /files", std::string(kBox) + kKey).ends_with("{\"other\":\"no_key\"}"));
  EXPECT_TRUE(ask("GET /boxes/b", std::string(kBox) + kOtherKey)
                  .ends_with("{\"other\":\"no_such_route\"}"));
  EXPECT_TRUE(ask("POST /files", std::string(kBox) + kOtherKey).starts_with("HTTP/1.1 405 "));
}

TEST_F(DivertedTest, TheFirstDiversionThatTakesItWins) {
  start();
  EXPECT_TRUE(ask("GET /healthz", std::string("X-Later: 1\r\n") + kBox).ends_with("diverted "));
  EXPECT_TRUE(ask("GET /healthz", std::string("X-Later: 1\r\n") + kKey)
                  .ends_with("later alice rest=healthz"));
}

// Under a service's host all is the service's: neither a path nor a header leads to the API.
TEST_F(DivertedTest, NoHeaderLeadsFromAServicesHostToTheApi) {
  static const http::Handler service = saying("service");
  by_host = [](const http::RequestHead& head) {
    return head.host.starts_with("svc.localhost") ? &service : nullptr;
  };
  start();
  for (const std::string& headers :
       {std::string(), std::string(kBox), std::string(kBox) + kOtherKey, std::string(kKey)}) {
    for (const char* line : {"GET /files", "GET /healthz", "GET /boxes/b"}) {
      const auto answer = ask(line, headers, "svc.localhost");
      EXPECT_TRUE(answer.ends_with("\r\n\r\nservice ")) << answer;
    }
  }
  EXPECT_TRUE(ask("GET /files", std::string(kBox) + kOtherKey).ends_with("diverted alice"))
      << "the control";
}

TEST_F(DivertedTest, HostAndOriginAreCheckedBeforeAHeaderCounts) {
  start();
  EXPECT_TRUE(ask("GET /healthz", kBox, "evil.example").starts_with("HTTP/1.1 421 "));
  EXPECT_TRUE(ask("GET /healthz", std::string(kBox) + "Origin: https://evil.example\r\n")
                  .starts_with("HTTP/1.1 403 "));
}

}  // namespace
}  // namespace cay::server::testing
