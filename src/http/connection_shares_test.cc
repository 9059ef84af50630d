// The callers' shares of the listener's connections, over real sockets.
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "http/listener.h"
#include "http/testing/loop_thread.h"
#include "http/testing/raw_client.h"
#include "http/testing/text_answer.h"

namespace cay::http {
namespace {

using namespace std::chrono_literals;
using testing::RawClient;
using testing::TestServer;
using testing::text;
using SharedExchange = std::shared_ptr<Exchange>;

std::string status_line(const std::string& answer) { return answer.substr(0, answer.find("\r\n")); }

// Lets in whom the path names: /key/NAME or /link/NAME[/TENANT].
asio::awaitable<void> let_in_as(SharedExchange exchange) {
  const auto& path = exchange->head().segments;
  const std::string tenant = path.size() > 2 ? path[2] : "t";
  auto in = exchange->let_in(
      {path[0] == "link" ? Caller::Kind::kLink : Caller::Kind::kKey, tenant + "/" + path[1]});
  if (!in) {
    co_await exchange->respond(text(429, in.error().message));
    co_return;
  }
  co_await exchange->respond(text(200, "in"));
}

// A connection of its own, and what its first request was answered.
std::pair<std::string, std::unique_ptr<RawClient>> dialled(const TestServer& server,
                                                           const std::string& target) {
  auto client = std::make_unique<RawClient>(server.port());
  client->send("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
  auto status = status_line(client->read_answer()).substr(9, 3);
  return {std::move(status), std::move(client)};
}

TEST(ConnectionSharesTest, NobodyTakesMoreThanAShareOfTheConnections) {
  ListenerConfig options;
  options.shares = {.per_link = 2, .all_links = 3, .per_key = 2};
  TestServer server(let_in_as, options);
  std::vector<std::unique_ptr<RawClient>> open;
  const auto ask_on = [](RawClient& client, const std::string& target) {
    client.send("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
    return client.read_answer();
  };
  const auto dial = [&](const std::string& target) {
    open.push_back(std::make_unique<RawClient>(server.port()));
    return status_line(ask_on(*open.back(), target)).substr(9, 3);
  };
  EXPECT_EQ(dial("/link/a"), "200");
  EXPECT_EQ(dial("/link/a"), "200");
  EXPECT_EQ(dial("/link/a"), "429");
  EXPECT_EQ(open.back()->read_to_end(), "") << "a refused connection ends";
  EXPECT_EQ(dial("/link/b"), "200");
  EXPECT_EQ(dial("/link/b"), "429") << "all links together";
  EXPECT_EQ(dial("/link/c"), "429");
  for (const char* key : {"a", "b"}) {
    EXPECT_EQ(dial(std::string("/key/") + key), "200");
    EXPECT_EQ(dial(std::string("/key/") + key), "200");
    EXPECT_EQ(dial(std::string("/key/") + key), "429");
  }
  // An open connection goes on, and counts for its last caller.
  EXPECT_EQ(status_line(ask_on(*open[0], "/link/a")), "HTTP/1.1 200 OK");
  EXPECT_EQ(status_line(ask_on(*open[0], "/key/c")), "HTTP/1.1 200 OK");
  EXPECT_EQ(dial("/link/c"), "200");
  open.clear();
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  while (dial("/link/a") != "200" && std::chrono::steady_clock::now() < deadline) open.clear();
  EXPECT_EQ(open.empty() ? "" : dial("/link/b"), "200")
      << "a closed connection is room for another";
}

// Any number of keys together leave room: who has the most gives up what it uses least.
TEST(ConnectionSharesTest, WhoHasTheMostConnectionsGivesOneUpForWhoHasLess) {
  ListenerConfig options;
  options.max_connections = 8;
  options.shares = {.per_link = 4, .all_links = 4, .per_key = 4, .all = 6};
  TestServer server(let_in_as, options);
  const auto dial = [&](const std::string& target) { return dialled(server, target); };
  const auto still = [&](RawClient& client, const std::string& target) {
    client.send("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
    return status_line(client.read_answer());
  };
  std::vector<std::unique_ptr<RawClient>> heavy, light;
  for (int i = 0; i < 4; ++i) heavy.push_back(dial("/key/a").second);
  for (int i = 0; i < 2; ++i) light.push_back(dial("/key/b").second);
  // Both keys have all between them. The heavier one has no right to more, the lighter to its half.
  EXPECT_EQ(dial("/key/a").first, "429");
  auto third = dial("/key/b");
  EXPECT_EQ(third.first, "200");
  EXPECT_EQ(heavy[0]->read_to_end(), "") << "the oldest that waits";
  EXPECT_EQ(dial("/key/b").first, "429") << "three each: the fair half";
  // Others come in: a key, and a link; each of them has it from one of the two.
  auto other = dial("/key/c");
  EXPECT_EQ(other.first, "200");
  auto link = dial("/link/d");
  EXPECT_EQ(link.first, "200");
  std::size_t alive = 0;
  for (std::size_t i = 1; i < heavy.size(); ++i)
    alive += still(*heavy[i], "/key/a") == "HTTP/1.1 200 OK" ? 1 : 0;
  for (auto& one : light) alive += still(*one, "/key/b") == "HTTP/1.1 200 OK" ? 1 : 0;
  alive += still(*third.second, "/key/b") == "HTTP/1.1 200 OK" ? 1 : 0;
  EXPECT_EQ(alive, 4u);
  EXPECT_EQ(still(*other.second, "/key/c"), "HTTP/1.1 200 OK");
  EXPECT_EQ(still(*link.second, "/link/d"), "HTTP/1.1 200 OK");
}

// Any number of links of one tenant leaves room for another's.
TEST(ConnectionSharesTest, TheTenantWhoseLinksHaveTheMostGivesOneUp) {
  ListenerConfig options;
  options.shares = {.per_link = 2, .all_links = 6, .per_key = 4, .all = 20};
  TestServer server(let_in_as, options);
  const auto dial = [&](const std::string& target) { return dialled(server, target); };
  std::vector<std::unique_ptr<RawClient>> heavy, light;
  for (const char* link : {"a", "a", "b", "b", "c", "c"})
    heavy.push_back(dial(std::string("/link/") + link + "/one").second);
  EXPECT_EQ(dial("/link/d/one").first, "429") << "another link of it is of the same tenant";
  for (std::size_t i = 0; i < 3; ++i) {
    auto got = dial("/link/" + std::to_string(i) + "/two");
    EXPECT_EQ(got.first, "200");
    light.push_back(std::move(got.second));
    EXPECT_EQ(heavy[i]->read_to_end(), "") << "the oldest that waits";
  }
  EXPECT_EQ(dial("/link/3/two").first, "429") << "three each: the fair half";
  EXPECT_EQ(dial("/link/x/three").first, "200");
  EXPECT_EQ(dial("/key/k/one").first, "200") << "keys have their own";
}

// The links of a tenant count together also among all connections: none of them has the most.
TEST(ConnectionSharesTest, LinksOfOneTenantWeighTogether) {
  ListenerConfig options;
  options.shares = {.per_link = 2, .all_links = 6, .per_key = 4, .all = 7};
  TestServer server(let_in_as, options);
  const auto dial = [&](const std::string& target) {
    auto client = std::make_unique<RawClient>(server.port());
    client->send("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(status_line(client->read_answer()), "HTTP/1.1 200 OK") << target;
    return client;
  };
  std::vector<std::unique_ptr<RawClient>> keys, links;
  for (int i = 0; i < 3; ++i) keys.push_back(dial("/key/k/two"));
  for (const char* link : {"a", "b", "c", "d"})
    links.push_back(dial(std::string("/link/") + link + "/one"));
  const auto other = dial("/key/other/two");
  EXPECT_EQ(links[0]->read_to_end(), "");
  keys[0]->send("GET /key/k/two HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(status_line(keys[0]->read_answer()), "HTTP/1.1 200 OK")
      << "the key has fewer than the links together";
}

// Keeps WebSockets and requests at work, until they are broken off.
asio::awaitable<void> hold_as(SharedExchange exchange) {
  auto in = exchange->let_in({Caller::Kind::kKey, exchange->head().segments[1]});
  if (!in) {
    co_await exchange->respond(text(429, in.error().message));
    co_return;
  }
  if (exchange->head().segments[0] == "now") {
    co_await exchange->respond(text(200, "here"));
    co_return;
  }
  auto socket = co_await exchange->upgrade(1000);
  if (!socket) co_return;
  auto last = co_await (*socket)->read();
  static_cast<void>(last);
}

TEST(ConnectionSharesTest, OfConnectionsThatAreAllAtWorkTheNewestIsGivenUp) {
  ListenerConfig options;
  options.shares = {.per_link = 2, .all_links = 2, .per_key = 3, .all = 3};
  TestServer server(hold_as, options);
  std::vector<std::unique_ptr<RawClient>> sockets;
  for (int i = 0; i < 3; ++i) {
    sockets.push_back(std::make_unique<RawClient>(server.port()));
    sockets.back()->send(
        "GET /hold/a HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: "
        "websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n");
    ASSERT_TRUE(sockets.back()->read_until("\r\n\r\n").starts_with("HTTP/1.1 101"));
  }
  RawClient other(server.port());
  other.send("GET /now/b HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(status_line(other.read_answer()), "HTTP/1.1 200 OK");
  const auto close = sockets[2]->read_exactly(4);
  EXPECT_EQ(close.substr(0, 1) + close.substr(2), "\x88\x03\xf5") << "1013: try again later";
  // The others are at work still: a ping is answered.
  sockets[0]->send(std::string("\x89\x80\0\0\0\0", 6));
  EXPECT_EQ(sockets[0]->read_exactly(2), std::string("\x8a\0", 2));
}

}  // namespace
}  // namespace cay::http
