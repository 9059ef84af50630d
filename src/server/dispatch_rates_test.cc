// How often, and how many at once: keys, links, strangers.
#include "server/testing/dispatch_fixture.h"

namespace cay::server::testing {
namespace {

TEST_F(DispatchTest, AKeyThatAsksTooOftenWaits) {
  per_second = 1;
  start();
  std::string answer;
  for (int i = 0; i < 50 && !answer.starts_with("HTTP/1.1 429 "); ++i)
    answer = ask("GET /boxes/b", kKey);
  EXPECT_NE(answer.find("too_many_requests"), std::string::npos) << answer;
  EXPECT_NE(answer.find("Retry-After: 1\r\n"), std::string::npos) << answer;
  EXPECT_TRUE(ask("POST /drain", "X-Api-Key: cay_admin\r\n").starts_with("HTTP/1.1 200 "))
      << "others do not";
}

TEST_F(DispatchTest, StrangersWaitAndHoldUpNoGoodKey) {
  strangers_per_second = 1;
  start();
  for (const char* wrong : {"", "X-Api-Key: cay_wrong\r\n"}) {
    std::string answer;
    for (int i = 0; i < 50 && !answer.starts_with("HTTP/1.1 429 "); ++i) {
      answer = ask("GET /boxes/b", wrong);
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 401 ") || answer.starts_with("HTTP/1.1 429 "))
          << answer;
    }
    EXPECT_NE(answer.find("too_many_requests"), std::string::npos) << answer;
    EXPECT_NE(answer.find("Retry-After: 1\r\n"), std::string::npos) << answer;
    EXPECT_EQ(last().reason, "too_many_requests");
  }
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(ask("GET /boxes/b", kKey).starts_with("HTTP/1.1 200 ")) << "of the same address";
}

// For every cause: a link's token, the host, the page's origin, the path of a service.
TEST_F(DispatchTest, EveryRefusalOfAStrangerCounts) {
  strangers_per_second = 1;
  public_url = *PublicUrl::create("", {"127.0.0.1"});
  router.declare({.prefixes = {}, .without_key = {"GET /dl/{token}"}});
  router.add(
      "GET", "/dl/{token}",
      [](SharedExchange exchange) -> asio::awaitable<void> {
        http::Response response;
        response.status = 403;
        response.headers.add("X-Cay-Error", "unknown_link");
        if (exchange->params().at("token") == "good") {
          const auto in = exchange->let_in({http::Caller::Kind::kLink, "t1/link-1"});
          EXPECT_TRUE(in);
          response.status = 404;  // the file is gone
        }
        co_await exchange->respond(std::move(response));
      },
      http::Auth::kOwn);
  start();
  int client = 0;
  for (const auto& [line, headers, host, status] :
       {std::tuple("GET /dl/bad", "", "127.0.0.1", "403"),
        {"GET /healthz", "", "evil.example", "421"},
        {"GET /healthz", "Origin: https://evil.example\r\n", "127.0.0.1", "403"},
        {"GET /boxes/b", "", "127.0.0.1", "401"}}) {
    const std::string from = "X-Forwarded-For: 203.0.113." + std::to_string(++client) + "\r\n";
    std::string answer = ask(line, from + headers, host);
    EXPECT_EQ(answer.substr(9, 3), status) << line;
    for (int i = 0; i < 50 && !answer.starts_with("HTTP/1.1 429 "); ++i)
      answer = ask(line, from + headers, host);
    EXPECT_NE(answer.find("too_many_requests"), std::string::npos) << answer;
    EXPECT_NE(answer.find("Retry-After: 1\r\n"), std::string::npos) << answer;
    EXPECT_EQ(last().reason, "too_many_requests");
    EXPECT_EQ(last().status, 429);
    // A caller that was let in is not held up, and neither is an answer that is no refusal.
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(ask("GET /dl/good", from).substr(9, 3), "404") << "a good link's";
      EXPECT_EQ(ask("GET /nowhere", from + kKey).substr(9, 3), "404") << "a good key's";
      EXPECT_EQ(ask("GET /healthz", from).substr(9, 3), "200");
    }
  }
}

TEST_F(DispatchTest, StrangersAreToldApartAsATrustedProxyTellsThem) {
  strangers_per_second = 1;
  public_url = *PublicUrl::create("", {"127.0.0.1"});
  start();
  const auto from = [this](const std::string& client) {
    return ask("GET /boxes/b", "X-Forwarded-For: " + client + "\r\n").substr(9, 3);
  };
  std::string status;
  for (int i = 0; i < 50 && status != "429"; ++i)
    status = from("2001:db8:1:2::" + std::to_string(i + 1));
  EXPECT_EQ(status, "429") << "one network, however many addresses";
  EXPECT_EQ(from("2001:db8:1:3::1"), "401");
  EXPECT_EQ(from("203.0.113.7"), "401");
}

TEST_F(DispatchTest, ALinkThatIsUsedTooOftenWaits) {
  per_second_of_link = 1;
  start();
  std::string answer;
  for (int i = 0; i < 50 && !answer.starts_with("HTTP/1.1 429 "); ++i)
    answer = ask("GET /link/good");
  EXPECT_NE(answer.find("too_many_requests"), std::string::npos) << answer;
  EXPECT_EQ(last().link, "") << "it was not let in";
  EXPECT_EQ(last().status, 429);
  EXPECT_EQ(records.front().link, "link-1") << "the control";
  EXPECT_TRUE(ask("GET /boxes/b", kKey).starts_with("HTTP/1.1 200 "));
}

TEST_F(DispatchTest, OneKeyCannotTakeAllRequests) {
  start(1);
  RawClient first(server->port());
  ++asked;
  first.send(request("GET /wait", kKey));
  begun.get_future().get();
  EXPECT_TRUE(ask("GET /boxes/b", kKey).starts_with("HTTP/1.1 429 "));
  EXPECT_TRUE(ask("GET /healthz").starts_with("HTTP/1.1 200 "));  // needs no key: not counted
  server->thread().call([this] { release->set(); });
  EXPECT_TRUE(first.read_answer().starts_with("HTTP/1.1 200 "));
  last();
  EXPECT_TRUE(ask("GET /boxes/b", kKey).starts_with("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace cay::server::testing
