// Heads of requests as handlers behind a listener see them, and the heads that never reach one.
#include "http/request_head.h"

#include <gtest/gtest.h>

#include <vector>

#include "http/testing/echo.h"
#include "http/testing/loop_thread.h"

namespace cay::http {
namespace {

using testing::ask;
using testing::body_of;
using testing::echo;
using testing::kClose;
using testing::status_line;
using testing::TestServer;

TEST(RequestHeadTest, SegmentsAreDecodedOnceAndOpaque) {
  TestServer server(echo);
  const auto get = [&](const std::string& target) {
    return body_of(ask(server.port(), "GET " + target + " HTTP/1.1\r\n" + kClose + "\r\n"));
  };
  EXPECT_EQ(get("/"), "GET#");
  EXPECT_EQ(get("/a%2Fb/c"), "GET|a/b|c#");
  EXPECT_EQ(get("/%2e%2e/..//x"), "GET|..|..||x#");
  EXPECT_EQ(get("/%252e"), "GET|%2e#");
  EXPECT_EQ(get("http://y:1/abs?q=1"), "GET|abs#");
}

TEST(RequestHeadTest, TheHostOfAnAbsoluteTargetIsTheOneThatCounts) {
  TestServer server([](std::shared_ptr<Exchange> exchange) -> asio::awaitable<void> {
    Response response;
    response.body = exchange->head().host + " " + exchange->head().target;
    co_await exchange->respond(std::move(response));
  });
  const auto get = [&](const std::string& target) {
    return ask(server.port(), "GET " + target + " HTTP/1.1\r\n" + kClose + "\r\n");
  };
  EXPECT_EQ(body_of(get("/a?q=1")), "x /a?q=1");
  EXPECT_EQ(body_of(get("http://evil.example:1/a?q=1")), "evil.example:1 /a?q=1");
  EXPECT_EQ(body_of(get("http://evil.example")), "evil.example /");
  for (const char* bad : {"http://u@h/", "http:///a", "ftp://h/a", "//h", "*", "h:80"}) {
    const std::string answer = get(bad);
    EXPECT_TRUE(bad == std::string("//h") ? answer.starts_with("HTTP/1.1 200 ")
                                          : answer.starts_with("HTTP/1.1 400 "))
        << bad << answer;
  }
}

TEST(RequestHeadTest, BracketsOfAHostStandAroundAnIpv6AddressAlone) {
  TestServer server(echo);
  const auto status = [&](const std::string& host) {
    return status_line(
        ask(server.port(), "GET / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n"));
  };
  for (const char* host : {"[::1]", "[::1]:8787", "[::1]:", "[2001:DB8::a]:1",
                           "[::ffff:127.0.0.1]:1", "localhost:8787", "127.0.0.1"}) {
    EXPECT_EQ(status(host), "HTTP/1.1 200 OK") << host;
  }
  for (const char* host :
       {"[localhost]:8787", "[127.0.0.1]", "[x.localhost]:1", "[]", "[::1", "[::1]x", "[::1]:x",
        "[::1]:1:1", "[::1]]", "[[::1]]", "[:]", "[1]", "[::1%25lo]", "[::g]", "x[::1]", "::1]"}) {
    EXPECT_EQ(status(host), "HTTP/1.1 400 Bad Request") << host;
  }
}

struct BadRequest {
  const char* name;
  std::string bytes;
  int status;
};

TEST(RequestHeadTest, BadOnesAreRefusedAndTheConnectionEnds) {
  TestServer server(echo);
  const std::string line = "POST / HTTP/1.1\r\nHost: x\r\n";
  const std::vector<BadRequest> cases = {
      {"nonsense", "hello\r\n\r\n", 400},
      {"TLS", "\x16\x03\x01\x02", 400},
      {"bare LF", "GET / HTTP/1.1\nHost: x\n\n", 400},
      {"two blanks", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"no host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"two hosts", "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
      {"odd host", "GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", 400},
      {"authority form", "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"fragment", "GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"NUL", "GET /%00 HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"half escape", "GET /%a HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"bad escape in the query", "GET /?a=%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400},
      {"HTTP/2", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 400},
      {"blank before colon", line + "Content-Length : 0\r\n\r\n", 400},
      {"no colon", line + "abc\r\n\r\n", 400},
      {"control character", line + std::string("A: b\x01\r\n\r\n"), 400},
      {"bare CR", line + "A: b\rc\r\n\r\n", 400},
      {"length and coding",
       line + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"length twice", line + "Content-Length: 0\r\nContent-Length: 0\r\n\r\n", 400},
      {"length list", line + "Content-Length: 3, 3\r\n\r\nabc", 400},
      {"signed length", line + "Content-Length: +3\r\n\r\nabc", 400},
      {"huge length", line + "Content-Length: 99999999999999999999\r\n\r\n", 400},
      {"coding twice",
       line + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},
      {"other coding", line + "Transfer-Encoding: gzip, chunked\r\n\r\n", 501},
      {"coding in 1.0", "POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
       400},
      {"bad chunk size", line + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"chunk too long", line + "Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n", 400},
      {"unknown expectation", line + "Expect: miracles\r\n\r\n", 417},
      {"long header", line + "A: " + std::string(20'000, 'a') + "\r\n\r\n", 431},
      {"long target", "GET /" + std::string(20'000, 'a') + " HTTP/1.1\r\n\r\n", 431},
      {"many headers",
       [&] {
         auto s = line;
         for (int i = 0; i < 200; ++i) s += "A: b\r\n";
         return s + "\r\n";
       }(),
       431},
  };
  for (const auto& bad : cases) {
    // The bytes behind it must never be taken for a request.
    SCOPED_TRACE(bad.name);
    const auto answer = ask(server.port(), bad.bytes + "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(status_line(answer).substr(9, 3), std::to_string(bad.status))
        << bad.name << ": " << answer;
    EXPECT_EQ(answer.find("smuggled"), std::string::npos) << bad.name;
    EXPECT_NE(answer.find("Connection: close"), std::string::npos) << bad.name;
  }
}

}  // namespace
}  // namespace cay::http
