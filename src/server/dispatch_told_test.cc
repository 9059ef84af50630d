// The lines that a request leaves in the log, and their time.
#include "server/testing/dispatch_fixture.h"

#include "async/piped.h"

namespace cay::server::testing {
namespace {

class OneChunk final : public ByteSource {
 public:
  explicit OneChunk(std::string bytes) : bytes_(std::move(bytes)) {}
  Task<Bytes> next() override { co_return std::exchange(bytes_, {}); }

 private:
  Bytes bytes_;
};

TEST_F(DispatchTest, WhatLastsIsToldAtItsBeginningAndAtItsEnd) {
  start();
  const auto masked = [](unsigned char opcode, const std::string& text) {  // with a mask of zeros
    return std::string{static_cast<char>(0x80 | opcode),
                       static_cast<char>(0x80 | text.size()),
                       0,
                       0,
                       0,
                       0} +
           text;
  };
  const std::string close = masked(8, "\x03\xe8");
  const std::pair<std::string, std::string> kEnds[] = {
      {close, "the client closed it with 1000"},
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
        ASSERT_TRUE(written.wait_for(lock, std::chrono::seconds(10), [this] {
          return begun_records.size() == asked;
        })) << "before anything was said";
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

// If the daemon is killed before the handler ends, the line of the beginning shows the caller.
TEST_F(DispatchTest, WhatMayChangeSomethingIsToldBeforeItsHandlerActs) {
  start();
  for (const char* method : {"PUT", "POST", "PATCH", "DELETE"}) {
    for (const auto& [target, by_link] :
         {std::pair("/act", false), std::pair("/link/good", true)}) {
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
  // A stranger does not act, so it has no line at its beginning. It could fill the log twice as
  // fast.
  for (const auto& [line, headers] :
       {std::pair("POST /act", ""), std::pair("POST /link/bad", ""), std::pair("POST /drain", kKey),
        std::pair("POST /nowhere", kKey)}) {
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

TEST_F(DispatchTest, BehindATrustedProxyTheClientIsWrittenDown) {
  public_url = *PublicUrl::create("", {"127.0.0.0/8"});
  start();
  ask("GET /healthz", "X-Forwarded-For: 203.0.113.7\r\n");
  EXPECT_EQ(last().peer, "203.0.113.7");
  EXPECT_TRUE(
      ask("GET /healthz", "X-Forwarded-Host: evil.example\r\n").starts_with("HTTP/1.1 421 "));
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

// A service's answer is passed on as it comes. Its length is the service's own affair.
TEST_F(DispatchTest, AServicesLongAnswerHasOneLine) {
  class Passed final : public PipedSource {
   public:
    Task<Bytes> next() override { co_return std::exchange(bytes_, {}); }
    std::optional<Bytes> come() override { return std::nullopt; }
    bool can_splice() const override { return false; }
    Task<KernelPipe> next_piped() override {
      co_return Error{Code::kInternal, "none", "no pipe", 0};
    }
    bool is_of_service() const override { return true; }

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
  router.declare({.prefixes = {}, .without_key = {"GET /svc/a", "GET /dl/a"}});
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
  router.add("POST", "/tools", who, Right::kReadOne);
  router.each([](http::Route& route) { route.acts_by_scope = route.pattern == "/tools"; });
  start();
  const auto acts = [this](const std::string& line, const char* headers) {
    ask(line, headers);
    return last().acts;
  };
  EXPECT_TRUE(acts("DELETE /boxes/b", kKey));
  EXPECT_TRUE(acts("POST /drain", "X-Api-Key: cay_admin\r\n"));
  EXPECT_TRUE(acts("POST /tools", kKey));
  EXPECT_FALSE(acts("POST /tools", "X-Api-Key: cay_read\r\n"));
  for (const auto& [line, headers] :
       {std::pair("GET /boxes/b", kKey), std::pair("POST /look/b", kKey),
        std::pair("POST /link/good", ""), std::pair("POST /drain", kKey),
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

}  // namespace
}  // namespace cay::server::testing
