// Every request before its handler: guards, keys, routes, limits, what is written down. Over real
// sockets, so that what a client sees is what is tested.
#include "server/dispatch.h"

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <future>
#include <mutex>
#include <vector>

#include "async/event.h"
#include "async/piped.h"
#include "http/testing/loop_thread.h"
#include "http/testing/raw_client.h"

namespace cay::server {
namespace {

using http::testing::RawClient;
using http::testing::TestServer;
using SharedExchange = std::shared_ptr<http::Exchange>;

asio::awaitable<void> who(SharedExchange exchange) {
  http::Response response;
  response.body = exchange->principal().key_name;
  for (const auto& [name, value] : exchange->params()) response.body += " " + name + "=" + value;
  co_await exchange->respond(std::move(response));
}

class OneChunk final : public ByteSource {
 public:
  explicit OneChunk(std::string bytes) : bytes_(std::move(bytes)) {}
  Task<Bytes> next() override { co_return std::exchange(bytes_, {}); }

 private:
  Bytes bytes_;
};

struct DispatchTest : ::testing::Test {
  http::Router router;
  KeyRing keys;
  std::mutex mutex;
  std::condition_variable written;
  std::vector<AccessRecord> records, begun_records;
  std::size_t asked = 0, begun_at_act = 0;  // how many beginnings were told when a handler acted
  http::Handler handler;
  std::unique_ptr<OpenRequests> open;
  std::unique_ptr<TestServer> server;
  std::promise<void> begun;
  std::unique_ptr<Event> release;

  Outside outside;
  std::function<void()> before_key;
  std::uint32_t per_second = 0, strangers_per_second = 0, per_second_of_link = 0;

  void start(std::uint32_t max_per_key = 10) {
    ASSERT_TRUE(keys.add({"alice", "t1", hash_key("cay_secret")}));
    router.add("GET", "/boxes/{name}", who);
    router.add("DELETE", "/boxes/{name}", who);
    router.add("GET", "/look/{name}", who, Right::kReadOne);
    router.add("POST", "/drain", who, Right::kHost);
    ASSERT_TRUE(keys.add({.name = "reader", .tenant = "t1", .hash = hash_key("cay_read"), .scope = KeyScope::kRead}));
    ASSERT_TRUE(keys.add({.name = "root", .tenant = "t1", .hash = hash_key("cay_admin"), .scope = KeyScope::kAdmin}));
    router.add("GET", "/healthz", who, http::Auth::kNone);
    for (const char* method : {"GET", "HEAD", "OPTIONS", "PUT", "POST", "PATCH", "DELETE"}) {
      router.add(method, "/act", [this](SharedExchange exchange) -> asio::awaitable<void> {
        note_act();
        co_await who(exchange);
      });
      // A link's own: it is let in where the handler finds the token good.
      router.add(method, "/link/{token}", [this](SharedExchange exchange) -> asio::awaitable<void> {
        if (exchange->params().at("token") == "good") {
          const auto in = exchange->let_in({http::Caller::Kind::kLink, "t1/link-1"});
          if (!in) {
            http::Response response;
            response.status = 429;
            response.body = in.error().reason;
            co_await exchange->respond(std::move(response));
            co_return;
          }
        }
        note_act();
        co_await who(exchange);
      }, http::Auth::kOwn);
    }
    router.add("GET", "/throw", [](SharedExchange) -> asio::awaitable<void> { throw std::runtime_error("inside"); co_return; });
    router.add("GET", "/named", [](SharedExchange exchange) -> asio::awaitable<void> {
      http::Response named;
      named.headers.add("X-Request-Id", "its-own");
      co_await exchange->respond(std::move(named));
    });
    router.add("GET", "/socket", [](SharedExchange exchange) -> asio::awaitable<void> {
      auto socket = co_await exchange->upgrade(1024);
      if (!socket) co_return;
      for (;;) {
        const auto message = co_await (*socket)->read();
        if (message.kind == http::WsMessage::Kind::kClosed || message.data == "leave") co_return;
        co_await (*socket)->close(1000, "done");
      }
    });
    router.add("GET", "/raw", [](SharedExchange exchange) -> asio::awaitable<void> {
      http::Headers headers;
      headers.add("Upgrade", "cay-tunnel");
      auto stream = co_await exchange->upgrade_raw(std::move(headers));
      if (!stream) co_return;
      const auto got = co_await (*stream)->read();
      if (!got) co_return;
      auto shut = co_await (*stream)->shut_write();
      static_cast<void>(shut);
    });
    router.add("GET", "/wait", [this](SharedExchange exchange) -> asio::awaitable<void> {
      begun.set_value();
      co_await release->wait();
      co_await who(exchange);
    });
    DispatchConfig config;
    config.max_per_key = max_per_key;
    config.outside = outside;
    config.before_key = before_key;
    config.per_second = per_second;
    config.strangers_per_second = strangers_per_second;
    config.per_second_of_link = per_second_of_link;
    config.begun = [this](const AccessRecord& record) {
      const std::lock_guard lock(mutex);
      begun_records.push_back(record);
      written.notify_all();
      return true;
    };
    config.log = [this](const AccessRecord& record) {
      const std::lock_guard lock(mutex);
      records.push_back(record);
      written.notify_all();
    };
    server = std::make_unique<TestServer>([this](std::shared_ptr<http::Exchange> exchange) { return handler(std::move(exchange)); });
    server->thread().call([&] {
      open = std::make_unique<OpenRequests>(server->thread().loop().get_executor());
      config.open = open.get();
      handler = make_dispatcher(router, keys, std::move(config));
    });
    release = std::make_unique<Event>(server->thread().loop().get_executor());
  }
  ~DispatchTest() override {
    if (server) {
      server->thread().call([this] {
        release.reset();
        open.reset();
      });
    }
  }
  void note_act() {
    const std::lock_guard lock(mutex);
    begun_at_act = begun_records.size();
  }
  static std::string request(const std::string& line, const std::string& headers = "", const std::string& host = "127.0.0.1") {
    return line + " HTTP/1.1\r\nHost: " + host + "\r\n" + headers + "\r\n";
  }
  std::string ask(const std::string& line, const std::string& headers = "", const std::string& host = "127.0.0.1") {
    ++asked;
    RawClient client(server->port());
    client.send(request(line, headers, host));
    return client.read_answer();
  }
  // A record is written when its handler has returned, just after the answer.
  AccessRecord last() {
    std::unique_lock lock(mutex);
    const bool all = written.wait_for(lock, std::chrono::seconds(10), [this] { return records.size() >= asked; });
    return all ? records.back() : AccessRecord();
  }
};

constexpr const char* kSocket =
    "X-Api-Key: cay_secret\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n";
constexpr const char* kKey = "X-Api-Key: cay_secret\r\n";

TEST_F(DispatchTest, BothKindsOfKeyAreTaken) {
  start();
  EXPECT_TRUE(ask("GET /boxes/a%2Fb", kKey).ends_with("\r\n\r\nalice name=a/b"));
  EXPECT_TRUE(ask("GET /boxes/b", "authorization: bearer cay_secret\r\n").ends_with("alice name=b"));
}

TEST_F(DispatchTest, WithoutAGoodKeyNothingIsTold) {
  start();
  for (const char* headers : {"", "X-Api-Key: wrong\r\n", "Authorization: Basic cay_secret\r\n", "X-Api-Key:\r\n"}) {
    for (const char* line : {"GET /boxes/b", "GET /nowhere", "POST /boxes/b"}) {
      const auto answer = ask(line, headers);
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 401 ")) << line << headers << answer;
      EXPECT_NE(answer.find("WWW-Authenticate: Bearer"), std::string::npos);
      EXPECT_EQ(answer.find("wrong"), std::string::npos);
    }
  }
  EXPECT_TRUE(ask("GET /healthz").starts_with("HTTP/1.1 200 "));
}

TEST_F(DispatchTest, WhatLastsIsToldAtItsBeginningAndAtItsEnd) {
  start();
  const auto masked = [](unsigned char opcode, const std::string& text) {  // with a mask of zeros
    return std::string{static_cast<char>(0x80 | opcode), static_cast<char>(0x80 | text.size()), 0, 0, 0, 0} + text;
  };
  const std::string close = masked(8, "\x03\xe8");
  const std::pair<std::string, std::string> kEnds[] = {{close, "the client closed it with 1000"},
                                                       {masked(1, "close") + close, "closed here with 1000: done"},
                                                       {masked(1, "leave"), "broken off here"},
                                                       {"", "the connection broke"}};
  for (const auto& [said, told] : kEnds) {
    ++asked;
    {
      RawClient client(server->port());
      client.send(request("GET /socket?key=x", kSocket));
      EXPECT_TRUE(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
      {
        std::unique_lock lock(mutex);
        ASSERT_TRUE(written.wait_for(lock, std::chrono::seconds(10), [this] { return begun_records.size() == asked; })) << "before anything was said";
        const AccessRecord& first = begun_records.back();
        EXPECT_EQ(first.part, AccessRecord::Part::kBegin);
        EXPECT_EQ(first.principal, "alice");
        EXPECT_EQ(first.target, "/socket");
        EXPECT_EQ(first.route, "/socket");
        EXPECT_EQ(first.status, 101);
        EXPECT_EQ(records.size(), asked - 1);
      }
      client.send(said);
      if (!said.empty()) client.read_to_end();
    }
    const auto end = last();
    EXPECT_EQ(end.part, AccessRecord::Part::kEnd) << told;
    EXPECT_EQ(end.ended, told);
    const std::lock_guard lock(mutex);
    EXPECT_EQ(end.request_id, begun_records.back().request_id);
  }
  ask("GET /boxes/b", kKey);
  EXPECT_EQ(last().part, AccessRecord::Part::kWhole) << "what is answered at once has one line";
  EXPECT_EQ(last().ended, "");
  const std::lock_guard lock(mutex);
  EXPECT_EQ(begun_records.size(), std::size(kEnds));
}

// Killed amid it, a daemon leaves who had asked for what.
TEST_F(DispatchTest, WhatMayChangeSomethingIsToldBeforeItsHandlerActs) {
  start();
  for (const char* method : {"PUT", "POST", "PATCH", "DELETE"}) {
    for (const auto& [target, by_link] : {std::pair("/act", false), std::pair("/link/good", true)}) {
      begun_records.clear();
      ask(std::string(method) + " " + target + "?secret=x", by_link ? "" : kKey);
      const auto end = last();
      const std::lock_guard lock(mutex);
      EXPECT_EQ(begun_at_act, 1u) << method << target << ": it was told when the handler acted";
      ASSERT_EQ(begun_records.size(), 1u);
      const AccessRecord& first = begun_records.front();
      EXPECT_EQ(first.part, AccessRecord::Part::kBegin);
      EXPECT_EQ(first.status, 0);
      EXPECT_EQ(first.method, method);
      EXPECT_EQ(first.target, by_link ? "/link/{token}" : "/act") << "never a token";
      EXPECT_EQ(first.principal, by_link ? "" : "alice");
      EXPECT_EQ(first.link, by_link ? "link-1" : "");
      EXPECT_EQ(first.request_id, end.request_id);
      EXPECT_EQ(end.part, AccessRecord::Part::kEnd);
      EXPECT_EQ(end.status, 200);
      EXPECT_EQ(end.ended, "") << "it was answered";
    }
  }
  begun_records.clear();
  for (const char* method : {"GET", "OPTIONS"}) {
    ask(std::string(method) + " /act", kKey);
    EXPECT_EQ(last().part, AccessRecord::Part::kWhole) << method;
  }
  // Who was not let in acts not: a stranger could fill the log twice as fast.
  for (const auto& [line, headers] : {std::pair("POST /act", ""), std::pair("POST /link/bad", ""), std::pair("POST /drain", kKey), std::pair("POST /nowhere", kKey)}) {
    ask(line, headers);
    EXPECT_EQ(last().part, AccessRecord::Part::kWhole) << line;
  }
  EXPECT_TRUE(begun_records.empty());
}

TEST_F(DispatchTest, ATunnelsEndIsToldToo) {
  start();
  const std::string upgrade = std::string(kKey) + "Upgrade: cay-tunnel\r\nConnection: Upgrade\r\n";
  for (const bool whole : {true, false}) {
    ++asked;
    RawClient client(server->port());
    client.send(request("GET /raw", upgrade));
    EXPECT_TRUE(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
    if (whole) {
      client.half_close();
    } else {
      client.drop();
    }
    EXPECT_EQ(last().part, AccessRecord::Part::kEnd);
    EXPECT_EQ(last().ended, whole ? "both sides had ended it" : "broken off");
  }
}

TEST_F(DispatchTest, TheKeysEndIsWhatEndedIt) {
  start();
  ++asked;
  RawClient client(server->port());
  client.send(request("GET /socket", kSocket));
  EXPECT_TRUE(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
  server->thread().call([this] { open->end_without_key(KeyRing()); });
  client.read_some();
  client.close();
  EXPECT_EQ(last().ended, "broken off here: the API key was removed, or its time is over");
}

TEST_F(DispatchTest, RefusalsNameTheirReason) {
  start();
  ask("GET /boxes/b", "X-Api-Key: wrong\r\n");
  EXPECT_EQ(last().reason, "unknown_key");
  ask("GET /healthz", "", "evil.example");
  EXPECT_EQ(last().reason, "wrong_host");
  EXPECT_EQ(last().status, 421);
  ask("GET /healthz", "Origin: https://evil.example\r\n");
  EXPECT_EQ(last().reason, "cross_origin");
  ask("POST /drain", kKey);
  EXPECT_EQ(last().reason, "scope_too_small");
  ask("POST /boxes/b", kKey);
  EXPECT_EQ(last().reason, "method_not_allowed");
  ask("GET /boxes/b", kKey);
  EXPECT_EQ(last().reason, "");
}

TEST_F(DispatchTest, ASmallKeyOpensLittle) {
  start();
  constexpr const char* kReader = "X-Api-Key: cay_read\r\n";
  constexpr const char* kAdmin = "X-Api-Key: cay_admin\r\n";
  EXPECT_TRUE(ask("GET /look/b", kReader).ends_with("reader name=b"));
  // A route that says nothing asks for much.
  const auto refused = ask("GET /boxes/b", kReader);
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 403 ")) << refused;
  EXPECT_NE(refused.find("scope_too_small"), std::string::npos);
  EXPECT_EQ(last().principal, "reader");
  EXPECT_TRUE(ask("POST /drain", kReader).starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(ask("POST /drain", kKey).starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(ask("POST /drain", kAdmin).starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(ask("GET /boxes/b", kAdmin).starts_with("HTTP/1.1 200 "));
}

TEST_F(DispatchTest, UnknownRoutesAndMethods) {
  start();
  EXPECT_TRUE(ask("GET /nowhere?x=1", kKey).starts_with("HTTP/1.1 404 "));
  const auto answer = ask("POST /boxes/b", kKey);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 405 "));
  EXPECT_NE(answer.find("Allow: GET, DELETE\r\n"), std::string::npos);
}

TEST_F(DispatchTest, ReboundNamesAndForeignPagesAreRefused) {
  start();
  EXPECT_TRUE(ask("GET /healthz", "", "evil.example").starts_with("HTTP/1.1 421 "));
  EXPECT_TRUE(ask("GET http://evil.example/healthz").starts_with("HTTP/1.1 421 "));
  EXPECT_TRUE(ask("GET http://localhost/healthz", "", "evil.example").starts_with("HTTP/1.1 200 "));
  EXPECT_TRUE(ask("GET /healthz", "Origin: https://evil.example\r\n").starts_with("HTTP/1.1 403 "));
  EXPECT_TRUE(ask("GET /boxes/b", std::string("Origin: https://evil.example\r\n") + kKey).starts_with("HTTP/1.1 200 "));
}

TEST_F(DispatchTest, ARingThatChangesIsLookedAtAnew) {
  bool removed = false;
  before_key = [&] {
    if (removed) keys = KeyRing();
  };
  start();
  EXPECT_TRUE(ask("GET /boxes/b", kKey).starts_with("HTTP/1.1 200 "));
  removed = true;
  EXPECT_TRUE(ask("GET /boxes/b", kKey).starts_with("HTTP/1.1 401 "));
}

TEST_F(DispatchTest, BehindATrustedProxyTheClientIsWrittenDown) {
  outside = *Outside::create("", {"127.0.0.0/8"});
  start();
  ask("GET /healthz", "X-Forwarded-For: 203.0.113.7\r\n");
  EXPECT_EQ(last().peer, "203.0.113.7");
  EXPECT_TRUE(ask("GET /healthz", "X-Forwarded-Host: evil.example\r\n").starts_with("HTTP/1.1 421 "));
}

TEST_F(DispatchTest, AThrowingHandlerIsShapedAndToldInTheRecord) {
  start();
  const auto answer = ask("GET /throw?token=x", std::string(kKey) + "X-Request-Id: my-id.1\r\n");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 "));
  EXPECT_EQ(answer.find("inside"), std::string::npos);
  EXPECT_NE(answer.find("X-Request-Id: my-id.1\r\n"), std::string::npos);
  const auto record = last();
  EXPECT_TRUE(record.failed);
  EXPECT_EQ(record.status, 500);
  EXPECT_EQ(record.target, "/throw");
  EXPECT_EQ(record.principal, "alice");
  EXPECT_EQ(record.request_id, "my-id.1");
}

TEST_F(DispatchTest, AServicesOwnRequestIdIsKept) {
  start();
  const auto answer = ask("GET /named", std::string(kKey) + "X-Request-Id: my-id.1\r\n");
  EXPECT_NE(answer.find("\r\nX-Request-Id: its-own\r\n"), std::string::npos) << answer;
  EXPECT_NE(answer.find("\r\nX-Cay-Request-Id: my-id.1\r\n"), std::string::npos) << answer;
  EXPECT_EQ(last().request_id, "my-id.1");
  EXPECT_EQ(ask("GET /boxes/b", kKey).find("X-Cay-Request-Id"), std::string::npos) << "the control";
}

TEST_F(DispatchTest, RequestIdsThatCouldHarmAreReplaced) {
  start();
  for (const std::string& bad : {std::string("a b"), std::string("a\"b"), std::string(65, 'a')}) {
    const auto answer = ask("GET /healthz", "X-Request-Id: " + bad + "\r\n");
    EXPECT_EQ(answer.find("X-Request-Id: " + bad + "\r\n"), std::string::npos);
    EXPECT_NE(answer.find("X-Request-Id: "), std::string::npos);
  }
}

TEST_F(DispatchTest, AKeyThatAsksTooOftenWaits) {
  per_second = 1;
  start();
  std::string answer;
  for (int i = 0; i < 50 && !answer.starts_with("HTTP/1.1 429 "); ++i) answer = ask("GET /boxes/b", kKey);
  EXPECT_NE(answer.find("too_many_requests"), std::string::npos) << answer;
  EXPECT_NE(answer.find("Retry-After: 1\r\n"), std::string::npos) << answer;
  EXPECT_TRUE(ask("POST /drain", "X-Api-Key: cay_admin\r\n").starts_with("HTTP/1.1 200 ")) << "others do not";
}

TEST_F(DispatchTest, StrangersWaitAndHoldUpNoGoodKey) {
  strangers_per_second = 1;
  start();
  for (const char* wrong : {"", "X-Api-Key: cay_wrong\r\n"}) {
    std::string answer;
    for (int i = 0; i < 50 && !answer.starts_with("HTTP/1.1 429 "); ++i) {
      answer = ask("GET /boxes/b", wrong);
      EXPECT_TRUE(answer.starts_with("HTTP/1.1 401 ") || answer.starts_with("HTTP/1.1 429 ")) << answer;
    }
    EXPECT_NE(answer.find("too_many_requests"), std::string::npos) << answer;
    EXPECT_NE(answer.find("Retry-After: 1\r\n"), std::string::npos) << answer;
    EXPECT_EQ(last().reason, "too_many_requests");
  }
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(ask("GET /boxes/b", kKey).starts_with("HTTP/1.1 200 ")) << "of the same address";
}

// Whatever is wrong: a link's token, the host, the page that asks, the path of a service.
TEST_F(DispatchTest, EveryRefusalOfAStrangerCounts) {
  strangers_per_second = 1;
  outside = *Outside::create("", {"127.0.0.1"});
  router.add("GET", "/dl/{token}", [](SharedExchange exchange) -> asio::awaitable<void> {
    http::Response response;
    response.status = 403;
    response.headers.add("X-Cay-Error", "unknown_link");
    if (exchange->params().at("token") == "good") {
      const auto in = exchange->let_in({http::Caller::Kind::kLink, "t1/link-1"});
      EXPECT_TRUE(in);
      response.status = 404;  // the file is gone
    }
    co_await exchange->respond(std::move(response));
  }, http::Auth::kOwn);
  start();
  int client = 0;
  for (const auto& [line, headers, host, status] : {std::tuple("GET /dl/bad", "", "127.0.0.1", "403"), {"GET /healthz", "", "evil.example", "421"},
                                                    {"GET /healthz", "Origin: https://evil.example\r\n", "127.0.0.1", "403"}, {"GET /boxes/b", "", "127.0.0.1", "401"}}) {
    const std::string from = "X-Forwarded-For: 203.0.113." + std::to_string(++client) + "\r\n";
    std::string answer = ask(line, from + headers, host);
    EXPECT_EQ(answer.substr(9, 3), status) << line;
    for (int i = 0; i < 50 && !answer.starts_with("HTTP/1.1 429 "); ++i) answer = ask(line, from + headers, host);
    EXPECT_NE(answer.find("too_many_requests"), std::string::npos) << answer;
    EXPECT_NE(answer.find("Retry-After: 1\r\n"), std::string::npos) << answer;
    EXPECT_EQ(last().reason, "too_many_requests");
    EXPECT_EQ(last().status, 429);
    // Who was let in, and what is no refusal, is not held up.
    for (int i = 0; i < 10; ++i) {
      EXPECT_EQ(ask("GET /dl/good", from).substr(9, 3), "404") << "a good link's";
      EXPECT_EQ(ask("GET /nowhere", from + kKey).substr(9, 3), "404") << "a good key's";
      EXPECT_EQ(ask("GET /healthz", from).substr(9, 3), "200");
    }
  }
}

TEST_F(DispatchTest, StrangersAreToldApartAsATrustedProxyTellsThem) {
  strangers_per_second = 1;
  outside = *Outside::create("", {"127.0.0.1"});
  start();
  const auto from = [this](const std::string& client) { return ask("GET /boxes/b", "X-Forwarded-For: " + client + "\r\n").substr(9, 3); };
  std::string status;
  for (int i = 0; i < 50 && status != "429"; ++i) status = from("2001:db8:1:2::" + std::to_string(i + 1));
  EXPECT_EQ(status, "429") << "one network, however many addresses";
  EXPECT_EQ(from("2001:db8:1:3::1"), "401");
  EXPECT_EQ(from("203.0.113.7"), "401");
}

TEST_F(DispatchTest, ALinkThatIsUsedTooOftenWaits) {
  per_second_of_link = 1;
  start();
  std::string answer;
  for (int i = 0; i < 50 && !answer.starts_with("HTTP/1.1 429 "); ++i) answer = ask("GET /link/good");
  EXPECT_NE(answer.find("too_many_requests"), std::string::npos) << answer;
  EXPECT_EQ(last().link, "") << "it was not let in";
  EXPECT_EQ(last().status, 429);
  EXPECT_EQ(records.front().link, "link-1") << "the control";
  EXPECT_TRUE(ask("GET /boxes/b", kKey).starts_with("HTTP/1.1 200 "));
}

// What a service says is passed on as it comes; its length is its own affair.
TEST_F(DispatchTest, AServicesLongAnswerHasOneLine) {
  class Passed final : public PipedSource {
   public:
    Task<Bytes> next() override { co_return std::exchange(bytes_, {}); }
    std::optional<Bytes> come() override { return std::nullopt; }
    bool can_splice() const override { return false; }
    Task<KernelPipe> next_piped() override { co_return Error{Code::kInternal, "none", "no pipe", 0}; }

   private:
    Bytes bytes_ = std::string(1 << 20, 'x');
  };
  const auto answering = [](bool service) {
    return [service](SharedExchange exchange) -> asio::awaitable<void> {
      const auto in = exchange->let_in({http::Caller::Kind::kLink, "t1/link-1"});
      EXPECT_TRUE(in);
      std::unique_ptr<ByteSource> bytes;
      if (service) {
        bytes = std::make_unique<Passed>();
      } else {
        bytes = std::make_unique<OneChunk>(std::string(1 << 20, 'x'));
      }
      co_await exchange->respond_stream(200, {}, 1 << 20, std::move(bytes));
    };
  };
  router.add("GET", "/svc/a", answering(true), http::Auth::kOwn);
  router.add("GET", "/dl/a", answering(false), http::Auth::kOwn);
  start();
  EXPECT_TRUE(ask("GET /svc/a").starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(last().part, AccessRecord::Part::kWhole);
  EXPECT_TRUE(ask("GET /dl/a").starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(last().part, AccessRecord::Part::kEnd) << "a file has a line when its download begins";
}

TEST_F(DispatchTest, WhatActsIsToldFromWhatLooks) {
  router.add("POST", "/look/{name}", who, Right::kReadOne);
  start();
  const auto acts = [this](const std::string& line, const char* headers) {
    ask(line, headers);
    return last().acts;
  };
  EXPECT_TRUE(acts("DELETE /boxes/b", kKey));
  EXPECT_TRUE(acts("POST /drain", "X-Api-Key: cay_admin\r\n"));
  for (const auto& [line, headers] : {std::pair("GET /boxes/b", kKey), std::pair("POST /look/b", kKey), std::pair("POST /link/good", ""), std::pair("POST /drain", kKey),
                                      std::pair("POST /nowhere", kKey), std::pair("DELETE /boxes/b", "")}) {
    EXPECT_FALSE(acts(line, headers)) << line;
  }
  router.fall_back([](const http::RequestHead&) { return true; }, who, Right::kManage);
  EXPECT_FALSE(acts("POST /elsewhere", kKey)) << "it is passed on";
  EXPECT_EQ(last().status, 200);
  ++asked;
  RawClient client(server->port());
  client.send(request("GET /socket", kSocket));
  EXPECT_TRUE(client.read_until("\r\n\r\n").starts_with("HTTP/1.1 101 "));
  client.close();
  EXPECT_TRUE(last().acts) << "commands come by a WebSocket";
  EXPECT_TRUE(begun_records.back().acts);
  EXPECT_TRUE(last().begin_is_written);
}

// A daemon that is killed amid a download leaves a line of who had it.
TEST_F(DispatchTest, ALongAnswerIsToldWhenItBegins) {
  const auto answering = [](std::optional<std::uint64_t> length) {
    return [length](SharedExchange exchange) -> asio::awaitable<void> {
      exchange->note_subject("of " + std::to_string(length.value_or(0)));
      http::Headers headers;
      auto bytes = std::make_unique<OneChunk>(std::string(length.value_or(3), 'x'));
      co_await exchange->respond_stream(200, std::move(headers), length, std::move(bytes));
    };
  };
  router.add("GET", "/short", answering(3));
  router.add("GET", "/long", answering(1 << 20));
  router.add("GET", "/unknown", answering(std::nullopt));
  start();
  EXPECT_TRUE(ask("GET /short", kKey).starts_with("HTTP/1.1 200 "));
  EXPECT_EQ(last().part, AccessRecord::Part::kWhole);
  for (const char* path : {"GET /long", "GET /unknown"}) {
    const auto before = begun_records.size();
    EXPECT_TRUE(ask(path, kKey).starts_with("HTTP/1.1 200 "));
    EXPECT_EQ(last().part, AccessRecord::Part::kEnd);
    ASSERT_EQ(begun_records.size(), before + 1);
    EXPECT_EQ(begun_records.back().principal, "alice");
    EXPECT_EQ(begun_records.back().status, 200);
  }
  EXPECT_EQ(last().subject, "of 0");
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

TEST_F(DispatchTest, WhatIsAtWorkEndsWithItsKey) {
  start();
  ASSERT_TRUE(keys.add({"bob", "t1", hash_key("cay_other")}));
  const auto take_away = [this](const char* name, const char* hash) {
    server->thread().call([&] {
      KeyRing left;
      for (const auto& record : keys.records()) {
        if (record.name != name) ASSERT_TRUE(left.add(record));
      }
      // One of the same name is another key.
      if (hash != nullptr) ASSERT_TRUE(left.add({name, "t1", hash_key(hash)}));
      keys = left;
      open->end_without_key(keys);
    });
  };
  RawClient waiting(server->port());
  waiting.send(request("GET /wait", kKey));
  begun.get_future().wait();
  take_away("bob", nullptr);
  server->thread().call([this] { release->notify(); });
  EXPECT_TRUE(waiting.read_answer().starts_with("HTTP/1.1 200 ")) << "the control: another's key";

  begun = std::promise<void>();
  waiting.send(request("GET /wait", kKey));
  begun.get_future().wait();
  take_away("alice", "cay_new");
  const auto answer = waiting.read_to_end();
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 401 ")) << answer;
  EXPECT_NE(answer.find("the API key was removed"), std::string::npos) << answer;
  EXPECT_TRUE(ask("GET /boxes/a", "X-Api-Key: cay_new\r\n").starts_with("HTTP/1.1 200 "));
}

}  // namespace
}  // namespace cay::server
