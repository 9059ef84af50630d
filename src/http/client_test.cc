// The client against our server, and against servers that misbehave.
#include "http/client.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/streambuf.hpp>
#include <boost/asio/write.hpp>
#include <thread>
#include <vector>

#include "async/deadline.h"
#include "async/event.h"
#include "async/testing.h"
#include "http/listener.h"

namespace cay::http {
namespace {

using namespace std::chrono_literals;
using cay::testing::run;
using SharedExchange = std::shared_ptr<Exchange>;

asio::awaitable<void> echo(SharedExchange exchange) {
  if (exchange->head().segments.back() == "sleep") {
    co_await sleep_for(1h);
  }
  if (exchange->head().segments.back() == "stream") {
    Headers headers;
    headers.add("X-Kind", "stream");
    auto body = exchange->body();
    co_await exchange->respond_stream(200, headers, std::nullopt, std::move(body));
    co_return;
  }
  auto body = co_await exchange->read_body(1 << 20);
  Response response;
  response.status = body ? 200 : 413;
  response.body = exchange->head().method + " " + exchange->head().target + " " +
                  (body ? *body : body.error().message);
  for (const auto& [name, value] : exchange->head().headers.items()) {
    if (name.starts_with("X-")) response.body += " " + name + "=" + value;
  }
  co_await exchange->respond(std::move(response));
}

struct ClientTest : ::testing::Test {
  asio::io_context loop;
  std::unique_ptr<Listener> server;
  std::unique_ptr<Client> client;

  void start(Handler handler, ClientOptions options = {}, ListenerConfig server_options = {}) {
    server = std::make_unique<Listener>(loop.get_executor(), std::move(server_options),
                                        std::move(handler));
    auto port = server->start();
    ASSERT_TRUE(port);
    connect("http://localhost:" + std::to_string(*port) + "/prefix/", std::move(options));
  }
  void connect(std::string url, ClientOptions options = {}) {
    options.url = std::move(url);
    auto made = Client::create(loop.get_executor(), std::move(options));
    ASSERT_TRUE(made) << made.error().message;
    client = *std::move(made);
  }
  Result<Response> ask(ClientRequest request) {
    return run(loop, client->request(std::move(request)));
  }
  ~ClientTest() override {
    client.reset();
    if (server) run(loop, server->shutdown(Millis(0)));
  }
};

ClientRequest make(std::string method, std::string target, std::string body = "") {
  ClientRequest request;
  request.method = std::move(method);
  request.target = std::move(target);
  request.body = std::move(body);
  return request;
}

TEST_F(ClientTest, RequestsShareOneConnection) {
  ClientOptions options;
  options.headers.add("X-Key", "default");
  start(echo, options);
  for (int i = 0; i < 10; ++i) {
    auto got = ask(make("POST", "/a?b=" + std::to_string(i), "body"));
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_EQ(got->body, "POST /prefix/a?b=" + std::to_string(i) + " body X-Key=default");
    EXPECT_EQ(server->connections(), 1u);
  }
  auto request = make("GET", "/");
  request.headers.add("x-key", "own");
  request.headers.add("X-Other", "o");
  auto got = ask(std::move(request));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->body, "GET /prefix/  X-Other=o");  // the lower-case name is not shown by echo
}

TEST_F(ClientTest, HeadHasALengthAndNoBody) {
  start(echo);
  for (int i = 0; i < 2; ++i) {
    auto got = ask(make("HEAD", "/x"));
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_NE(got->headers.get("Content-Length").value_or("0"), "0");
    EXPECT_EQ(got->body, "");
  }
  EXPECT_EQ(server->connections(), 1u);
}

class Counting final : public ByteSource {
 public:
  Counting(std::uint64_t total, std::uint64_t* given) : left_(total), given_(given) {}
  Task<Bytes> next() override {
    Bytes piece(std::min<std::uint64_t>(left_, 65536), 'c');
    left_ -= piece.size();
    *given_ += piece.size();
    co_return piece;
  }

 private:
  std::uint64_t left_;
  std::uint64_t* given_;
};

TEST_F(ClientTest, BodiesStreamInBothDirections) {
  start([](SharedExchange exchange) -> asio::awaitable<void> {
    std::uint64_t total = 0;
    auto body = exchange->body();
    for (;;) {
      auto piece = co_await body->next();
      if (!piece) co_return;
      if (piece->empty()) break;
      total += piece->size();
    }
    std::uint64_t given = 0;
    auto source = std::make_unique<Counting>(total, &given);
    Headers headers;
    co_await exchange->respond_stream(200, headers, std::nullopt, std::move(source));
  });
  for (const bool with_length : {true, false}) {
    std::uint64_t given = 0;
    auto request = make("PUT", "/up");
    request.stream = std::make_unique<Counting>(20'000'000, &given);
    if (with_length) request.stream_length = 20'000'000;
    auto story = [&]() -> asio::awaitable<std::uint64_t> {
      auto answer = co_await client->send(std::move(request));
      EXPECT_TRUE(answer);
      std::uint64_t total = 0;
      for (;;) {
        auto piece = co_await answer->body->next();
        EXPECT_TRUE(piece);
        if (!piece || piece->empty()) break;
        total += piece->size();
      }
      co_return total;
    };
    EXPECT_EQ(run(loop, story()), 20'000'000u);
    EXPECT_EQ(given, 20'000'000u);
  }
  EXPECT_EQ(server->connections(), 1u);
}

TEST_F(ClientTest, ARefusedUploadStopsAndTellsTheAnswer) {
  start(echo);
  std::uint64_t given = 0;
  auto request = make("POST", "/up");
  request.stream = std::make_unique<Counting>(1ull << 40, &given);
  request.stream_length = 1ull << 40;
  auto got = ask(std::move(request));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->status, 413);
  EXPECT_LT(given, 1u << 26);
}

TEST_F(ClientTest, NobodyListens) {
  connect("http://127.0.0.1:1");
  auto got = ask(make("GET", "/"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().reason, "connect_failed");
  connect("unix:///nonexistent/cay.sock");
  got = ask(make("GET", "/"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().reason, "connect_failed");
}

TEST_F(ClientTest, AnAnswerThatDoesNotComeInTime) {
  ClientOptions options;
  options.response_timeout = 20ms;
  start(echo, options);
  auto got = ask(make("GET", "/sleep"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().reason, "response_timeout");
}

TEST_F(ClientTest, AConnectionThatTheServerClosedMeanwhileIsNotUsed) {
  ListenerConfig quick;
  quick.idle_limit = 10ms;
  start(echo, {}, quick);
  ASSERT_TRUE(ask(make("POST", "/", "1")));
  auto wait = [&]() -> asio::awaitable<void> {
    while (server->connections() > 0) {
      co_await sleep_for(Millis(1));
    }
  };
  run(loop, wait());
  EXPECT_TRUE(ask(make("POST", "/", "2")));
}

// Answers the requests of the n-th connection with the n-th list of answers, then closes it.
class ScriptedServer {
 public:
  explicit ScriptedServer(std::vector<std::vector<std::string>> scripts)
      : acceptor_(context_, {asio::ip::make_address("127.0.0.1"), 0}), thread_([this, scripts] {
          for (const auto& script : scripts) {
            asio::ip::tcp::socket socket(context_);
            acceptor_.accept(socket);
            asio::streambuf buffer;
            boost::system::error_code ignored;
            for (const auto& answer : script) {
              const auto size = asio::read_until(socket, buffer, "\r\n\r\n", ignored);
              buffer.consume(size);
              asio::write(socket, asio::buffer(answer), ignored);
            }
            socket.shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
          }
        }) {}
  ~ScriptedServer() { thread_.join(); }
  std::uint16_t port() { return acceptor_.local_endpoint().port(); }
  std::string url() { return "http://127.0.0.1:" + std::to_string(port()); }

 private:
  asio::io_context context_;
  asio::ip::tcp::acceptor acceptor_;
  std::thread thread_;
};

TEST_F(ClientTest, BrokenAnswersAreErrorsAndNeverShortBodies) {
  ScriptedServer bad({{"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"},
                      {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n"},
                      {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"},
                      {"SSH-2.0-x\r\n\r\n"},
                      {""},
                      {"HTTP/1.1 200 OK\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n"}});
  connect(bad.url());
  for (int i = 0; i < 6; ++i) {
    auto got = ask(make("GET", "/"));
    ASSERT_FALSE(got) << i;
    EXPECT_EQ(got.error().reason, "connection_lost") << i;
  }
}

TEST_F(ClientTest, AProxyIsAskedForAConnectionUnlessTheHostIsDirect) {
  ScriptedServer proxy({{"HTTP/1.1 200 Connection established\r\n\r\n",
                         "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nby hand"},
                        {"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"},
                        {"nonsense\r\n\r\n"}});
  ClientOptions options;
  options.proxy.host = "127.0.0.1";
  options.proxy.port = proxy.port();
  options.max_idle = 0;
  options.may_dial = [](const IpAddress& address) { return !is_special(address); };
  connect("http://9.9.9.9:1", options);  // an address: no name is looked up
  const auto got = ask(make("GET", "/"));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->body, "by hand");
  for (const char* words : {"status 407", "status none"}) {
    const auto refused = ask(make("GET", "/"));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().reason, "connect_failed");
    EXPECT_NE(refused.error().message.find(words), std::string::npos) << refused.error().message;
  }
  // A direct host does not go by the proxy. An address that may not be dialled does not either.
  options.proxy.is_direct = [](const std::string&, const std::vector<IpAddress>&) { return true; };
  connect("http://127.0.0.1:1", options);
  EXPECT_EQ(ask(make("GET", "/")).error().reason, "special_network");
}

TEST_F(ClientTest, AnUnusableProxyStopsAllButDirectHosts) {
  ScriptedServer server({{"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nhere"}});
  ClientOptions options;
  options.proxy.unusable = "SOCKS is not spoken";
  options.proxy.is_direct = [](const std::string& host, const std::vector<IpAddress>&) {
    return host == "127.0.0.1";
  };
  connect(server.url(), options);
  EXPECT_EQ(ask(make("GET", "/"))->body, "here");
  connect("http://9.9.9.9:1", options);
  const auto got = ask(make("GET", "/"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().reason, "bad_proxy");
  EXPECT_EQ(got.error().message, "SOCKS is not spoken");
}

// A proxy that keeps the heads which it read, and answers each as written.
class ListeningProxy {
 public:
  explicit ListeningProxy(std::vector<std::vector<std::string>> connections)
      : acceptor_(context_, {asio::ip::address_v4::loopback(), 0}),
        thread_([this, connections = std::move(connections)] {
          for (const auto& answers : connections) {
            asio::ip::tcp::socket socket(context_);
            acceptor_.accept(socket);
            for (const std::string& answer : answers) {
              std::string head;
              boost::system::error_code error;
              asio::read_until(socket, asio::dynamic_buffer(head), "\r\n\r\n", error);
              if (error) break;
              heads_.push_back(head);
              asio::write(socket, asio::buffer(answer), error);
            }
          }
        }) {}
  ~ListeningProxy() { join(); }
  std::uint16_t port() { return acceptor_.local_endpoint().port(); }
  // Waits until its connections are over.
  const std::vector<std::string>& heads() {
    join();
    return heads_;
  }

 private:
  void join() {
    if (thread_.joinable()) thread_.join();
  }

  asio::io_context context_;
  asio::ip::tcp::acceptor acceptor_;
  std::vector<std::string> heads_;
  std::thread thread_;
};

TEST_F(ClientTest, AProxyGetsTheAddressThatWasCheckedAndNoName) {
  const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
  const std::string made = "HTTP/1.1 200 made\r\n\r\n";
  ListeningProxy proxy({{made, ok}});
  ClientOptions options;
  options.proxy.host = "127.0.0.1";
  options.proxy.port = proxy.port();
  options.proxy.forwards = true;  // a URL would have the proxy look the name up
  options.max_idle = 0;
  options.checks_all = true;
  options.may_dial = [](const IpAddress& address) { return is_special(address); };
  connect("http://localhost:81", options);
  const auto got = ask(make("GET", "/page"));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->body, "ok");
  ASSERT_EQ(proxy.heads().size(), 2U);
  const std::string& asked = proxy.heads()[0];
  EXPECT_TRUE(asked.starts_with("CONNECT 127.0.0.1:81 ") || asked.starts_with("CONNECT [::1]:81 "));
  EXPECT_EQ(asked.find("localhost"), std::string::npos) << asked;
  EXPECT_EQ(proxy.heads()[1].substr(0, 18), "GET /page HTTP/1.1");
  EXPECT_NE(proxy.heads()[1].find("Host: localhost:81\r\n"), std::string::npos);
}

TEST_F(ClientTest, ANameThatIsNotCheckedHereIsNotReachedByAProxy) {
  ClientOptions options;
  options.proxy.host = "127.0.0.1";
  options.proxy.port = 1;  // nobody listens: it would be connect_failed with its name
  options.checks_all = true;
  options.may_dial = [](const IpAddress& address) { return !is_special(address); };
  connect("http://localhost:81", options);
  EXPECT_EQ(ask(make("GET", "/")).error().reason, "special_network");
  connect("http://name.invalid", options);
  const auto got = ask(make("GET", "/"));
  ASSERT_FALSE(got);
  EXPECT_NE(got.error().message.find("has no address here"), std::string::npos)
      << got.error().message;
  // Without the rule the proxy is asked.
  options.checks_all = false;
  connect("http://name.invalid", options);
  EXPECT_NE(ask(make("GET", "/")).error().message.find("does not answer"), std::string::npos);
}

TEST_F(ClientTest, AnswersWithoutLengthEndWithTheConnection) {
  ScriptedServer old({{"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\n\r\nall of it"}});
  connect(old.url());
  auto got = ask(make("GET", "/"));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->body, "all of it");
}

TEST_F(ClientTest, AnIdempotentRequestIsRepeatedWhenAKeptConnectionBreaks) {
  const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n";
  // Each first connection answers once, takes a second request, and breaks.
  ScriptedServer flaky({{ok + "a", ""}, {ok + "b", ""}});
  connect(flaky.url());
  EXPECT_EQ(ask(make("GET", "/"))->body, "a");
  EXPECT_EQ(ask(make("GET", "/"))->body, "b");
  // A POST may have been carried out: it is not repeated.
  auto got = ask(make("POST", "/"));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().reason, "connection_lost");
}

TEST_F(ClientTest, ARefusedWebSocketIsAValue) {
  start(echo);
  auto got = run(loop, client->websocket("/ws", Headers()));
  ASSERT_TRUE(got);
  EXPECT_FALSE(got->socket);
  EXPECT_EQ(got->refusal.status, 200);
  EXPECT_TRUE(got->refusal.body.starts_with("GET /prefix/ws"));
}

TEST_F(ClientTest, BadRequestsDoNotLeave) {
  connect("http://127.0.0.1:1");
  EXPECT_EQ(ask(make("GET", "/a b")).error().reason, "bad_request");
  EXPECT_EQ(ask(make("GET", "")).error().reason, "bad_request");
  EXPECT_EQ(ask(make("GE T", "/")).error().reason, "bad_request");
}

TEST(UrlTest, GoodAndBad) {
  asio::io_context loop;
  const auto made = [&](const std::string& url) {
    ClientOptions options;
    options.url = url;
    return Client::create(loop.get_executor(), std::move(options));
  };
  for (const char* good : {"http://h", "https://h", "https://h:8443/base",
                           "http://[::1]:8787/base/", "http://127.0.0.1:1", "unix:///run/x"})
    EXPECT_TRUE(made(good)) << good;
  for (const char* bad : {"", "h:1", "ftp://h", "http://", "https://", "https://h:x", "http://h:x",
                          "http://u@h", "unix://relative"}) {
    auto refused = made(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().reason, "bad_url");
  }
}

TEST(EncodeTest, SegmentsSurviveTheTrip) {
  EXPECT_EQ(encode_segment("a/b c%\xc3\xbc~"), "a%2Fb%20c%25%C3%BC~");
}

}  // namespace
}  // namespace cay::http
