#include "api/gateway/headers.h"

#include <gtest/gtest.h>

namespace cay::api {
namespace {

using Items = std::vector<std::pair<std::string, std::string>>;

class GatewayHeadersTest : public ::testing::Test {
 protected:
  static http::Headers made(const Items& items) {
    http::Headers out;
    for (const auto& [name, value] : items) out.add(name, value);
    return out;
  }
  Items sent(const Items& items, ServiceForm form = ServiceForm::kHost) {
    http::RequestHead head;
    head.host = "h:1";
    head.peer = "::1:5000";
    head.headers = made(items);
    auto out = request_headers(head, form, place, [](std::string_view key) {
                 return key == "cay_k";
               }).items();
    EXPECT_EQ(out.front(), Items::value_type("Host", "h:1"));
    return {out.begin() + 1, out.end() - (form == ServiceForm::kHost ? 3 : 4)};
  }
  Items told(const Items& items, ServiceForm form = ServiceForm::kHost) {
    return answer_headers(made(items), form, place).items();
  }
  bool crossed(const Items& items, const std::string& method = "GET") {
    http::RequestHead head;
    head.method = method;
    head.host = "h:1";
    head.headers = made(items);
    return is_cross_origin(head);
  }
  ServicePlace place{SandboxId("0b0e5b1c-7c2e-4c39-9d8f-1f2a3b4c5d6e"), 80};
};

TEST_F(GatewayHeadersTest, WhatIsOfOneConnectionStays) {
  EXPECT_EQ(sent({{"Connection", "close, X-Mine"},
                  {"X-Mine", "1"},
                  {"Keep-Alive", "5"},
                  {"TE", "trailers"},
                  {"Transfer-Encoding", "chunked"},
                  {"Content-Length", "4"},
                  {"Upgrade", "h2c"},
                  {"Expect", "100-continue"},
                  {"Accept", "*/*"}}),
            (Items{{"Accept", "*/*"}}));
}

TEST_F(GatewayHeadersTest, ClaimsOfTheClientAreNotPassedOn) {
  EXPECT_EQ(sent({{"X-Forwarded-For", "1.2.3.4"},
                  {"x-forwarded-user", "root"},
                  {"Forwarded", "for=1.2.3.4"},
                  {"X-Real-IP", "1.2.3.4"},
                  {"X-Langsmith-User-Id", "u"},
                  {"X-Langsmith-User-Token", "t"}}),
            Items());
  http::RequestHead head;
  head.host = "h:1";
  head.scheme = "https";
  head.peer = "10.1.1.1:99";
  const auto out =
      request_headers(head, ServiceForm::kPath, place, [](std::string_view) { return false; });
  EXPECT_EQ(out.get("X-Forwarded-For"), "10.1.1.1");
  for (const auto& [peer, address] : {std::pair("2001:db8::1:99", "2001:db8::1"),
                                      {"[2001:db8::1]", "2001:db8::1"},
                                      {"9.9.9.9", "9.9.9.9"}}) {
    head.peer = peer;
    EXPECT_EQ(
        request_headers(head, ServiceForm::kPath, place, [](std::string_view) { return false; })
            .get("X-Forwarded-For"),
        address);
  }
  EXPECT_EQ(out.get("X-Forwarded-Proto"), "https");
  EXPECT_EQ(out.get("X-Forwarded-Host"), "h:1");
  EXPECT_EQ(out.get("X-Forwarded-Prefix"), "/svc/0b0e5b1c-7c2e-4c39-9d8f-1f2a3b4c5d6e/80");
}

// WSGI, CGI and others make '-' and '_' one, and some all that is neither letter nor digit.
TEST_F(GatewayHeadersTest, NoOtherSpellingOfAClaimIsPassedOn) {
  EXPECT_EQ(sent({{"X_Forwarded_For", "1.2.3.4"},
                  {"x-forwarded_proto", "https"},
                  {"X_Real_IP", "1.2.3.4"},
                  {"X.Real-IP", "1.2.3.4"},
                  {"X_Langsmith_User_Id", "u"},
                  {"X_Forwarded_Prefix", "/"},
                  {"X_Cay_Service_Token", "t"},
                  {"X_Api_Key", "cay_k"},
                  {"Content_Length", "4"},
                  {"Transfer_Encoding", "chunked"},
                  {"Proxy_Authorization", "Basic x"},
                  {"Connection", "X-Mine, X_Other"},
                  {"X_Mine", "1"},
                  {"X-Other", "1"}}),
            Items());
  const Items own{{"X_Own", "1"}, {"X_Api_Key", "its own"}, {"Accept_Language", "en"}};
  EXPECT_EQ(sent(own), own) << "the control";
}

TEST_F(GatewayHeadersTest, NothingOfCaysOwnGoesIn) {
  EXPECT_EQ(sent({{"X-Cay-Service-Token", "t"},
                  {"x-langsmith-sandbox-service-token", "t"},
                  {"X-Api-Key", "cay_k"},
                  {"Authorization", "Bearer cay_k"},
                  {"Cookie", "cay_service=t"},
                  {"Cookie", "a=1; __Host-cay_service=t;b=2; cay_service=u"}}),
            (Items{{"Cookie", "a=1; b=2"}}));
  // The control: the service's own of the same kind pass.
  const Items own{
      {"X-Api-Key", "its own"}, {"Authorization", "Bearer its.own"}, {"Cookie", "session=1"}};
  EXPECT_EQ(sent(own), own);
  EXPECT_EQ(sent(own, ServiceForm::kPath), (Items{own[0], own[1]}))
      << "by a path, cookies are of Cay's origin";
}

TEST_F(GatewayHeadersTest, AnAnswerCountsForItsOwnHostAlone) {
  EXPECT_EQ(told({{"Set-Cookie", "a=1; Domain=.localhost; Path=/; HttpOnly"},
                  {"Set-Cookie", "cay_service=x"},
                  {"Set-Cookie", "__Host-cay_service=x; Secure"},
                  {"Clear-Site-Data", "\"*\""},
                  {"Alt-Svc", "h3=\":443\""},
                  {"X-Accel-Redirect", "/etc/passwd"},
                  {"X-Sendfile", "/x"},
                  {"Connection", "close"},
                  {"Strict-Transport-Security", "max-age=1; includeSubDomains"},
                  {"X-Cay-Error", "no"},
                  {"ETag", "e"},
                  {"Location", "/next"},
                  {"X-Request-Id", "its-own"},
                  {"X-Cay-Request-Id", "no"}}),
            (Items{{"Set-Cookie", "a=1; Path=/; HttpOnly"},
                   {"ETag", "e"},
                   {"Location", "/next"},
                   {"X-Request-Id", "its-own"}}));
}

TEST_F(GatewayHeadersTest, ByAPathNothingCountsForCaysOrigin) {
  const auto out = answer_headers(made({{"Set-Cookie", "a=1"},
                                        {"Access-Control-Allow-Origin", "*"},
                                        {"Service-Worker-Allowed", "/"},
                                        {"Location", "/next"},
                                        {"Content-Type", "text/html"},
                                        {"Content-Security-Policy", "default-src *"}}),
                                  ServiceForm::kPath, place);
  EXPECT_FALSE(out.get("Set-Cookie") || out.get("Access-Control-Allow-Origin") ||
               out.get("Service-Worker-Allowed"));
  EXPECT_EQ(out.get("Location"), "/svc/0b0e5b1c-7c2e-4c39-9d8f-1f2a3b4c5d6e/80/next");
  EXPECT_EQ(out.get("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(out.items()[out.items().size() - 3].second, "sandbox; default-src 'none'")
      << "beside the service's own policy: the strictest counts";
}

TEST_F(GatewayHeadersTest, PagesOfOtherOriginsMayOnlyLinkHere) {
  const Items navigation{{"Sec-Fetch-Site", "cross-site"},
                         {"Sec-Fetch-Mode", "navigate"},
                         {"Sec-Fetch-Dest", "document"}};
  EXPECT_FALSE(crossed({}));
  EXPECT_FALSE(crossed({{"Origin", "http://h:1"}}, "POST"));
  EXPECT_FALSE(crossed({{"Sec-Fetch-Site", "same-origin"}}, "POST"));
  EXPECT_FALSE(crossed(navigation));
  EXPECT_TRUE(crossed(navigation, "POST"));
  EXPECT_TRUE(crossed({{"Origin", "http://h:2"}}));
  EXPECT_TRUE(crossed({{"Origin", "null"}}));
  EXPECT_TRUE(crossed({{"Sec-Fetch-Site", "same-site"}}))
      << "another sandbox's service is of the same site";
  EXPECT_TRUE(crossed({{"Sec-Fetch-Site", "cross-site"},
                       {"Sec-Fetch-Mode", "navigate"},
                       {"Sec-Fetch-Dest", "iframe"}}));
}

}  // namespace
}  // namespace cay::api
