#include "api/gateway/gateway.h"

#include <deque>

#include "api/testing/api_fixture.h"
#include "async/piped.h"
#include "core/ports/tunnel.h"
#include "core/verbs/links.h"
#include "core/verbs/sandboxes.h"

namespace cay::api {
namespace {

// A service inside, with its output and its input. It answers once it has received a blank line.
struct Program {
  std::string answer;
  std::string heard;
  bool hangs = false;  // sends no more, and does not end
  // Answers each request, and waits for the next.
  bool lasts = false;
  bool drops = false;          // ... or ends instead, as one does that found it idle for too long
  bool chatters = false;       // sends something without a request
  bool one_at_a_time = false;  // a later connection waits for the end of those before
  int connections = 0, requests = 0;
  std::deque<const void*> open;
};

class ScriptedTunnel : public core::Tunnel, public PipedStream {
 public:
  ScriptedTunnel(asio::any_io_executor loop, std::shared_ptr<Program> program)
      : program_(std::move(program)), changed_(std::move(loop)) {
    ++program_->connections;
    program_->open.push_back(this);
  }
  ~ScriptedTunnel() override { std::erase(program_->open, this); }
  Task<Bytes> read() override {
    while (program_->heard.find("\r\n\r\n") == std::string::npos && !broken_) {
      co_await changed_.wait();
    }
    while (said_ && program_->hangs && !broken_) {
      co_await changed_.wait();
    }
    if (broken_) co_return *broken_;
    if (program_->lasts) {
      while (!broken_ && !shut_ &&
             (asked_ == answered_ || (program_->one_at_a_time && program_->open.front() != this))) {
        auto changed = co_await changed_.wait_for(Millis{5});
        static_cast<void>(changed);
      }
      if (shut_) co_return Bytes();
      if (broken_) co_return *broken_;
      if (program_->drops && answered_ > 0) co_return Bytes();
      ++answered_;
      co_return program_->answer;
    }
    co_return std::exchange(said_, true) ? Bytes() : program_->answer;
  }
  Task<void> write(Bytes bytes) override {
    program_->heard += bytes;
    if (bytes.ends_with("\r\n\r\n")) {
      ++asked_;
      ++program_->requests;
    }
    changed_.notify();
    co_return Result<void>();
  }
  Task<void> shut_write() override {
    shut_ = true;
    co_return Result<void>();
  }
  bool can_splice() const override { return false; }
  Task<KernelPipe> read_piped(std::size_t) override { co_return KernelPipe(); }
  Task<void> write_piped(KernelPipe) override { co_return Result<void>(); }
  bool is_quiet() override { return !broken_ && !program_->chatters; }
  bool has_gone() override { return false; }
  void break_off(Error why) override {
    broken_ = std::move(why);
    changed_.notify();
  }

 private:
  std::shared_ptr<Program> program_;
  bool said_ = false, shut_ = false;
  int asked_ = 0, answered_ = 0;
  std::optional<Error> broken_;
  cay::Event changed_;
};

class GatewayTest : public testing::ApiTest {
 protected:
  using ExchangeHandle = testing::ExchangeHandle;
  using Items = std::vector<std::pair<std::string, std::string>>;

  GatewayTest() {
    GatewayConfig config;
    config.is_key = [](std::string_view key) { return key == "cay_k"; };
    config.key_lives = [this](const Link& one) { return one.created_by != dead_key; };
    gateway = std::make_unique<Gateway>(loop.get_executor(), *cay, std::move(config));
    gateway->add_routes(router);
    SandboxSpec spec;
    spec.name = "box";
    id = core::testing::run(loop, cay->sandboxes().create(who, spec, {}))->id;
    program->answer =
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nSet-Cookie: a=b; Domain=localhost\r\n\r\nhello";
    runtime.only_box().programs[80] = [this]() -> std::unique_ptr<core::Tunnel> {
      return std::make_unique<ScriptedTunnel>(loop.get_executor(), program);
    };
  }

  std::string token(LinkSpec spec = {.port = 80, .lifetime_s = 60}) {
    auto made = core::testing::run(loop, cay->links().issue(who, "box", std::move(spec)));
    EXPECT_TRUE(made);
    link = made->link;
    return made->token;
  }
  // A request to the service's own host.
  ExchangeHandle by_host(const std::string& target, const Items& headers = {},
                         const std::string& kind = "80") {
    auto out = exchange("GET", target);
    out->request.host = id.get() + "--" + kind + ".localhost:8787";
    for (const auto& [name, value] : headers) out->request.headers.add(name, value);
    return out;
  }
  Running begin_by_host(ExchangeHandle handle) {
    const auto* handler = gateway->handler_of(handle->request);
    EXPECT_NE(handler, nullptr);
    return {handle, core::testing::start<void>(loop, as_one((*handler)(handle)))};
  }
  ExchangeHandle ask(ExchangeHandle handle) {
    auto running = begin_by_host(handle);
    EXPECT_TRUE(core::testing::finish<void>(loop, *running.started));
    EXPECT_EQ(handle->answers, 1);
    return handle;
  }
  static Task<void> as_one(asio::awaitable<void> work) {
    co_await std::move(work);
    co_return Result<void>();
  }

  Principal who{TenantId("t1"), "key1"};
  std::string dead_key;
  std::shared_ptr<Program> program = std::make_shared<Program>();
  std::unique_ptr<Gateway> gateway;
  SandboxId id;
  Link link;
};

TEST_F(GatewayTest, ATokenInEitherHeaderOpensTheService) {
  for (const char* header :
       {"X-Cay-Service-Token", "X-Langsmith-Sandbox-Service-Token", "X-Daytona-Preview-Token"}) {
    program->heard.clear();
    const auto got = ask(by_host("/a?b=c%20d", {{header, token()}, {"X-Api-Key", "cay_k"}}));
    EXPECT_EQ(got->status, 200) << got->answer_body;
    EXPECT_EQ(got->answer_body, "hello");
    EXPECT_EQ(got->headers.get("Set-Cookie"), "a=b");
    EXPECT_TRUE(program->heard.starts_with("GET /a?b=c%20d HTTP/1.1\r\nHost: " + id.get() +
                                           "--80.localhost:8787\r\n"))
        << program->heard;
    EXPECT_EQ(program->heard.find("cay"), std::string::npos)
        << "nothing of Cay's goes in: " << program->heard;
  }
}

TEST_F(GatewayTest, WithoutOneNothingIsReachedOrTold) {
  const std::string good = token();
  EXPECT_EQ(ask(by_host("/"))->status, 401);
  EXPECT_EQ(ask(by_host("/", {{"X-Cay-Service-Token", good + "x"}}))->status, 401);
  EXPECT_EQ(ask(by_host("/", {{"X-Cay-Service-Token", good}}, "81"))->status, 401)
      << "another port";
  EXPECT_EQ(ask(by_host("/?token=" + good))->status, 401) << "not in the query of a service";
  EXPECT_EQ(ask(by_host("/", {{"X-Api-Key", "cay_k"}}))->status, 401) << "a key is for the API";
  auto other = by_host("/", {{"X-Cay-Service-Token", good}});
  other->request.host = "0b0e5b1c-7c2e-4c39-9d8f-1f2a3b4c5d6e--80.localhost";
  EXPECT_EQ(ask(other)->status, 401) << "whether there is such a sandbox is not told";
  other = by_host("/healthz");
  other->request.host = "x.localhost";
  EXPECT_EQ(ask(other)->status, 404);
  EXPECT_EQ(program->heard, "");
  dead_key = "key1";
  EXPECT_EQ(ask(by_host("/", {{"X-Cay-Service-Token", good}}))->status, 401)
      << "it goes with the key that made it";
  dead_key = "";
  EXPECT_EQ(ask(by_host("/", {{"X-Cay-Service-Token", good}}))->status, 200) << "the control";
}

TEST_F(GatewayTest, ExpiredAndWithdrawnOnesSaySo) {
  const std::string expired = token();
  clock.advance(std::chrono::minutes(2));
  auto got = ask(by_host("/", {{"X-Cay-Service-Token", expired}}));
  EXPECT_EQ(got->status, 403);
  EXPECT_TRUE(got->answer_body.starts_with("Service link has expired")) << got->answer_body;
  const std::string withdrawn = token();
  EXPECT_TRUE(core::testing::run(loop, cay->links().withdraw(who, "box", link.id)));
  EXPECT_EQ(ask(by_host("/", {{"X-Cay-Service-Token", withdrawn}}))->status, 401);
}

TEST_F(GatewayTest, ABrowserLogsInAndHasACookieOfThisHostAlone) {
  const std::string good = token();
  auto got = ask(by_host("/_svc/auth?token=" + good));
  EXPECT_EQ(got->status, 303);
  EXPECT_EQ(got->headers.get("Location"), "/");
  EXPECT_EQ(got->headers.get("Referrer-Policy"), "no-referrer");
  EXPECT_EQ(got->headers.get("Set-Cookie"),
            "cay_service=" + good + "; Path=/; HttpOnly; SameSite=Lax; Max-Age=60");
  auto secure = by_host("/_svc/auth?token=" + good);
  secure->request.scheme = "https";
  EXPECT_EQ(ask(secure)->headers.get("Set-Cookie"),
            "__Host-cay_service=" + good + "; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure");
  EXPECT_EQ(ask(by_host("/_svc/auth?token=" + good + "x"))->status, 401);
  EXPECT_EQ(ask(by_host("/_svc/other", {{"X-Cay-Service-Token", good}}))->status, 404);
  EXPECT_EQ(program->heard, "") << "these paths are never the service's";

  const Items cookie{{"Cookie", "cay_service=tossed; cay_service=" + good + "; own=1"}};
  EXPECT_EQ(ask(by_host("/", cookie))->status, 200) << "a bad one beside it shuts nobody out";
  EXPECT_NE(program->heard.find("Cookie: own=1\r\n"), std::string::npos) << program->heard;
  Items crossed = cookie;
  crossed.emplace_back("Origin", "http://evil--80.localhost:8787");
  EXPECT_EQ(ask(by_host("/", crossed))->status, 403);
}

// A page of another sandbox's service is of the same site, and over plain http no browser sends
// which page requests.
TEST_F(GatewayTest, ABrowserHasNoLoginWherePagesCannotBeToldApart) {
  GatewayConfig config;
  config.names = {.domain = "box.test", .local = false};
  config.key_lives = [](const Link&) { return true; };
  config.is_key = [](std::string_view) { return false; };
  gateway = std::make_unique<Gateway>(loop.get_executor(), *cay, std::move(config));
  const std::string good = token();
  const auto at = [&](const std::string& target, const std::string& scheme,
                      const Items& headers = {}) {
    auto out = by_host(target, headers);
    out->request.host = id.get() + "--80.box.test";
    out->request.scheme = scheme;
    return ask(out);
  };
  const Items cookies{{"Cookie", "cay_service=" + good + "; __Host-cay_service=" + good}};
  auto got = at("/", "http", cookies);
  EXPECT_EQ(got->status, 401);
  EXPECT_NE(got->answer_body.find("--tls"), std::string::npos) << got->answer_body;
  Items own = cookies;
  own.emplace_back("Origin", "http://" + id.get() + "--80.box.test");
  EXPECT_EQ(at("/", "http", own)->status, 401)
      << "not even for a page of its own: a GET of another's has no Origin";
  EXPECT_EQ(program->heard, "");
  got = at("/_svc/auth?token=" + good, "http");
  EXPECT_EQ(got->status, 403);
  EXPECT_EQ(got->headers.get("X-Cay-Error"), "login_needs_tls");
  EXPECT_FALSE(got->headers.get("Set-Cookie"));
  EXPECT_NE(got->answer_body.find("X-Forwarded-Proto: https"), std::string::npos)
      << got->answer_body;
  EXPECT_EQ(at("/", "http", {{"X-Cay-Service-Token", good}})->status, 200)
      << "a program has its token";
  EXPECT_EQ(at("/_svc/auth?token=" + good, "https")->status, 303) << "the control";
  EXPECT_EQ(at("/", "https", cookies)->status, 200) << "the control";
}

TEST_F(GatewayTest, ByAPathOnlyAHeaderOpensIt) {
  const std::string base = "/svc/" + id.get() + "/80", good = token();
  auto with = [&](const std::string& target, const char* header, const std::string& value) {
    auto out = exchange("GET", target);
    out->request.headers.add(header, value);
    return serve(out);
  };
  auto got = with(base + "/x/../y%2f?q", "X-Cay-Service-Token", good);
  EXPECT_EQ(got->status, 200) << got->answer_body;
  EXPECT_TRUE(program->heard.starts_with("GET /x/../y%2f?q HTTP/1.1\r\n")) << program->heard;
  EXPECT_FALSE(got->headers.get("Set-Cookie"));
  EXPECT_TRUE(got->headers.get("Content-Security-Policy"));
  program->heard.clear();
  EXPECT_EQ(with(base, "X-Cay-Service-Token", good)->status, 200);
  EXPECT_TRUE(program->heard.starts_with("GET / HTTP/1.1\r\n"));
  EXPECT_EQ(with(base + "/", "Cookie", "cay_service=" + good)->status, 401);
  EXPECT_EQ(with(base + "/_svc/auth?token=" + good, "A", "b")->status, 501);
  EXPECT_EQ(with("/svc/%30" + id.get().substr(1) + "/80/", "X-Cay-Service-Token", good)->status,
            404);
  auto worker = exchange("GET", base + "/sw.js");
  worker->request.headers.add("X-Cay-Service-Token", good);
  worker->request.headers.add("Service-Worker", "script");
  EXPECT_EQ(serve(worker)->status, 403);
}

TEST_F(GatewayTest, ATokenInThePathOpensThatServiceAlone) {
  const std::string good = token();
  const std::string base = "/svc/" + id.get() + "/80~" + good;
  auto got = call("GET", base + "/a/../b%2f?q");
  EXPECT_EQ(got->status, 200) << got->answer_body;
  EXPECT_TRUE(program->heard.starts_with("GET /a/../b%2f?q HTTP/1.1\r\n")) << program->heard;
  EXPECT_EQ(program->heard.find(good), std::string::npos) << "the service does not learn it";
  EXPECT_TRUE(got->headers.get("Content-Security-Policy"));
  EXPECT_EQ(call("GET", base)->status, 200);
  EXPECT_EQ(call("GET", base + "x/")->status, 401);
  EXPECT_EQ(call("GET", "/svc/" + id.get() + "/80~/")->status, 401);
  EXPECT_EQ(call("GET", "/svc/" + id.get() + "/81~" + good + "/")->status, 401);
  auto worker = exchange("GET", base + "/sw.js");
  worker->request.headers.add("Service-Worker", "script");
  EXPECT_EQ(serve(worker)->status, 403);
}

TEST_F(GatewayTest, WhatIsWrongWithTheServiceIsSaid) {
  const Items good{{"X-Cay-Service-Token", token()}};
  for (const char* answer :
       {"", "SSH-2.0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n"}) {
    program->answer = answer;
    const auto got = ask(by_host("/", good));
    EXPECT_EQ(got->status, 502) << answer;
    EXPECT_TRUE(got->answer_body.starts_with("Service is not reachable")) << got->answer_body;
  }
  runtime.only_box().programs.clear();
  EXPECT_EQ(ask(by_host("/", good))->headers.get("X-Cay-Error"), "connect_refused");
  program->answer = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf";
  runtime.only_box().programs[80] = [this]() -> std::unique_ptr<core::Tunnel> {
    return std::make_unique<ScriptedTunnel>(loop.get_executor(), program);
  };
  EXPECT_TRUE(ask(by_host("/", good))->broken) << "half an answer breaks the connection";
}

TEST_F(GatewayTest, AWithdrawalCutsWhatIsOpen) {
  const std::string good = token();
  program->answer = "HTTP/1.1 200 OK\r\n\r\nbegins";
  program->hangs = true;
  auto handle = by_host("/", {{"X-Cay-Service-Token", good}});
  auto running = begin_by_host(handle);
  settle();
  EXPECT_EQ(handle->answer_body, "begins");
  EXPECT_FALSE(running.done());
  EXPECT_TRUE(core::testing::run(loop, cay->links().withdraw(who, "box", link.id)));
  settle();
  EXPECT_TRUE(running.done());
  EXPECT_TRUE(handle->broken);
}

TEST_F(GatewayTest, ARequestsBodyPassesAndABrokenOneBreaksOff) {
  auto handle =
      by_host("/up", {{"X-Cay-Service-Token", token()}, {"Transfer-Encoding", "chunked"}});
  handle->request.method = "POST";
  handle->request_body = "some bytes";
  EXPECT_EQ(ask(handle)->status, 200);
  EXPECT_TRUE(program->heard.ends_with("\r\n\r\na\r\nsome bytes\r\n0\r\n\r\n")) << program->heard;
}

class KeptServicesTest : public GatewayTest {
 protected:
  KeptServicesTest() { program->lasts = true; }
  ExchangeHandle get(const std::string& by, Items more = {}, const std::string& method = "GET") {
    more.emplace_back("X-Cay-Service-Token", by);
    auto out = by_host("/", more);
    out->request.method = method;
    return ask(out);
  }
};

TEST_F(KeptServicesTest, AConnectionThatAnsweredIsAskedAgainByTheSameLinkAlone) {
  const std::string one = token(), other = token();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(get(one)->answer_body, "hello");
  }
  EXPECT_EQ(program->connections, 1);
  EXPECT_EQ(program->requests, 3);
  EXPECT_EQ(program->heard.find("Connection: close"), std::string::npos) << program->heard;
  EXPECT_EQ(get(other)->status, 200);
  EXPECT_EQ(program->connections, 2) << "nothing of one link's is left for another's";
}

TEST_F(KeptServicesTest, WhatCouldLeaveSomethingBehindIsNotKept) {
  const std::string good = token();
  const auto twice = [&](const char* what, auto&& request) {
    program->connections = 0;
    request();
    request();
    EXPECT_EQ(program->connections, 2) << what;
    program->heard.clear();
  };
  twice("a body, which a service may leave unread", [&] { get(good, {{"Content-Length", "0"}}); });
  twice("another method", [&] { get(good, {}, "POST"); });
  const std::string answer = program->answer;
  program->answer = answer + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
  twice("more than an answer", [&] { EXPECT_EQ(get(good)->answer_body, "hello"); });
  program->answer = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
  twice("the service's word", [&] { get(good); });
  program->answer = "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello";
  twice("HTTP/1.0", [&] { get(good); });
  program->answer = answer;
  program->chatters = true;
  twice("what came unasked", [&] { get(good); });
  program->chatters = false;
  program->connections = 0;
  get(good);
  get(good);
  EXPECT_EQ(program->connections, 1) << "the control";
}

TEST_F(KeptServicesTest, OneThatEndedMeanwhileIsAskedAnewAndNothingElseIs) {
  const std::string good = token();
  EXPECT_EQ(get(good)->status, 200);
  program->drops = true;
  EXPECT_EQ(get(good)->status, 200);
  EXPECT_EQ(program->connections, 2);
  EXPECT_EQ(program->requests, 3) << "it had said nothing to the second";
  program->answer = "";
  EXPECT_EQ(get(good)->status, 502) << "a new connection is asked once";
}

TEST_F(KeptServicesTest, AServerOfOneConnectionAtATimeIsNotHeldUp) {
  const std::string one = token(), other = token();
  program->one_at_a_time = true;
  EXPECT_EQ(get(one)->status, 200);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(get(other)->status, 200);
  EXPECT_LT(std::chrono::steady_clock::now() - began, KeptServices::kIdle)
      << "it did not wait for the other's end of life";
  EXPECT_EQ(program->connections, 2) << "the control: it had to wait for the first one's end";
}

TEST_F(KeptServicesTest, TheyEndAfterAMomentAndForOneThatWaits) {
  KeptServices kept(loop.get_executor());
  const auto made = [&] { return std::make_unique<ScriptedTunnel>(loop.get_executor(), program); };
  const ServicePlace place{id, 80}, other{id, 81};
  const LinkId key("a-link");
  kept.keep(key, place, made());
  kept.keep(key, other, made());
  EXPECT_EQ(kept.size(), 2U);
  {
    const auto way = kept.make_way(place);
    EXPECT_EQ(kept.size(), 1U);
    kept.keep(key, place, made());
    EXPECT_EQ(kept.size(), 1U) << "nor is one kept now";
  }
  kept.keep(key, place, made());
  EXPECT_EQ(kept.size(), 2U);
  for (std::size_t i = 0; i < 2 * KeptServices::kMostOfOne; ++i) kept.keep(key, place, made());
  EXPECT_EQ(kept.size(), KeptServices::kMostOfOne + 1);
  loop.restart();
  loop.run_for(3 * KeptServices::kIdle);
  EXPECT_EQ(kept.size(), 0U);
  kept.end();
}

TEST_F(GatewayTest, AFilesLinkServesThatFileAlone) {
  files().put("/data/re\"port.html", "<p>");
  const std::string good =
      token({.path = "/data/re\"port.html", .content_type = "text/html", .inline_shown = true});
  for (const bool host : {true, false}) {
    const auto request = [&](const std::string& method, const std::string& text) {
      auto out =
          host ? by_host("/" + text, {}, "dl") : exchange(method, "/dl/" + id.get() + "/" + text);
      out->request.method = method;
      return out;
    };
    const auto served = [&](const std::string& method, const std::string& text) {
      auto out = request(method, text);
      return host ? ask(out) : serve(out);
    };
    auto got = served("GET", good);
    EXPECT_EQ(got->status, 200) << got->answer_body;
    EXPECT_EQ(got->answer_body, "<p>");
    EXPECT_EQ(got->headers.get("Content-Type"), "text/html");
    EXPECT_EQ(got->headers.get("Content-Disposition"), "inline; filename*=UTF-8''re%22port.html");
    EXPECT_TRUE(got->headers.get("Content-Security-Policy")->starts_with("sandbox"));
    EXPECT_TRUE(got->headers.get("ETag"));
    EXPECT_FALSE(got->headers.get("X-Cay-Uid")) << "no more than a link tells";
    const auto head = served("HEAD", good);
    EXPECT_EQ(head->status, 200);
    EXPECT_EQ(head->length, 3U);
    EXPECT_EQ(head->headers.get("ETag"), got->headers.get("ETag"));
    EXPECT_EQ(served("POST", good)->status, 405);
    EXPECT_EQ(served("GET", good + "x")->status, 403);
    EXPECT_EQ(served("GET", token())->status, 403) << "a service's token";
    auto part = request("GET", good);
    part->request.headers.add("Range", "bytes=1-1");
    part = host ? ask(part) : serve(part);
    EXPECT_EQ(part->status, 206);
    EXPECT_EQ(part->answer_body, "p");
    part = request("GET", good);
    part->request.headers.add("Range", "bytes=9-");
    EXPECT_EQ((host ? ask(part) : serve(part))->status, 416);
  }
  files().put_directory("/dir");
  for (const char* path : {"/none", "/dir"}) {
    const std::string bad = "/" + token({.path = path});
    EXPECT_EQ(ask(by_host(bad, {}, "dl"))->status, 404) << path;
    const auto head = by_host(bad, {}, "dl");
    head->request.method = "HEAD";
    EXPECT_EQ(ask(head)->status, 404) << path << ": as GET";
  }
  const std::string expiring = token({.path = "/data/re\"port.html", .lifetime_s = 5});
  clock.advance(std::chrono::seconds(6));
  EXPECT_EQ(ask(by_host("/" + expiring, {}, "dl"))->status, 403);
}

}  // namespace
}  // namespace cay::api
