// The server against raw bytes: what a friendly client, a slow one and a hostile one send.
#include "http/listener.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

#include "async/deadline.h"
#include "async/event.h"
#include "http/testing/echo.h"
#include "http/testing/loop_thread.h"
#include "http/testing/raw_client.h"
#include "http/testing/text_answer.h"

namespace cay::http {
namespace {

using namespace std::chrono_literals;
using testing::ask;
using testing::body_of;
using testing::echo;
using testing::kClose;
using testing::RawClient;
using testing::status_line;
using testing::TestServer;
using testing::text;
using SharedExchange = std::shared_ptr<Exchange>;

// echo, for a caller with a good key.
asio::awaitable<void> let_in(SharedExchange exchange) {
  static_cast<void>(exchange->let_in({Caller::Kind::kKey, "alice"}));
  co_await echo(std::move(exchange));
}

TEST(ListenerTest, AnswersOverAndOverOnOneConnection) {
  TestServer server(echo);
  RawClient client(server.port());
  for (int i = 0; i < 100; ++i) {
    client.send("GET /n/" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(body_of(client.read_answer()), "GET|n|" + std::to_string(i) + "#");
  }
}

TEST(ListenerTest, PipelinedRequestsAreAnsweredInOrder) {
  TestServer server(echo);
  std::string all;
  for (int i = 0; i < 50; ++i) {
    all += "POST /" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc";
  }
  RawClient client(server.port());
  client.send(all);
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(body_of(client.read_answer()), "POST|" + std::to_string(i) + "#abc");
}

TEST(ListenerTest, WhatIsRefusedBeforeTheHandlerIsTold) {
  std::mutex mutex;
  std::vector<std::string> told;
  ListenerConfig options;
  options.max_head = 1024;
  options.head_limit = Millis{2000};
  options.refused = [&](const RequestHead& head, int status, const Error& error) {
    const std::lock_guard lock(mutex);
    told.push_back(std::to_string(status) + " " + error.reason + " " + head.method);
    EXPECT_TRUE(head.peer.starts_with("127.0.0.1:")) << head.peer;
  };
  TestServer server(echo, options);
  const std::string cases[] = {
      "GET / HTTP/1.1\r\n\r\n", "nonsense\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(4096, 'a') + "\r\n\r\n",
      "PUT / HTTP/1.1\r\nHost: x\r\nExpect: 200-maybe\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\n"};
  for (const std::string& bytes : cases) ask(server.port(), bytes);
  ask(server.port(), std::string("GET / HTTP/1.1\r\n") + kClose + "\r\n");
  const std::lock_guard lock(mutex);
  EXPECT_EQ(told,
            (std::vector<std::string>{"400 bad_host GET", "400 bad_request ", "431 head_too_large ",
                                      "417 bad_expectation PUT", "408 request_timeout "}));
}

TEST(ListenerTest, ChunkedBodiesArrive) {
  TestServer server(echo);
  const auto answer =
      ask(server.port(), std::string("POST / HTTP/1.1\r\n") + kClose +
                             "Transfer-Encoding: chunked\r\n\r\n"
                             "3;x=y\r\nabc\r\n0004\r\ndefg\r\n0\r\nTrailer: t\r\n\r\n");
  EXPECT_EQ(body_of(answer), "POST#abcdefg");
}

TEST(ListenerTest, ExpectedContinueIsSentBeforeTheBodyIsRead) {
  TestServer server(echo);
  RawClient client(server.port());
  client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hi");
  EXPECT_EQ(body_of(client.read_answer()), "PUT#hi");
}

TEST(ListenerTest, AnExpectedBodyThatIsTooLargeIsRefusedUnsent) {
  TestServer server(echo);
  RawClient client(server.port());
  client.send(
      "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999\r\nExpect: 100-continue\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_EQ(status_line(answer), "HTTP/1.1 413 Payload Too Large");
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
}

TEST(ListenerTest, AnUnwantedBodyStillLetsTheAnswerThrough) {
  TestServer server(echo);
  RawClient client(server.port());
  client.send("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n");
  std::thread sender([&] { client.send(std::string(8'000'000, 'x')); });
  const auto answer = client.read_to_end();
  EXPECT_EQ(status_line(answer), "HTTP/1.1 413 Payload Too Large");
  EXPECT_NE(answer.find("Connection: close"), std::string::npos)
      << "a client must not send its next request on it";
  EXPECT_FALSE(client.was_reset());
  sender.join();
}

TEST(ListenerTest, HeadHasTheLengthAndNoBody) {
  TestServer server(echo);
  const auto answer = ask(server.port(), std::string("HEAD /a HTTP/1.1\r\n") + kClose + "\r\n");
  EXPECT_NE(answer.find("Content-Length: 7\r\n"), std::string::npos);
  EXPECT_EQ(body_of(answer), "");
}

TEST(ListenerTest, Http10IsAnsweredAndClosed) {
  TestServer server(echo);
  EXPECT_EQ(body_of(ask(server.port(), "GET /old HTTP/1.0\r\n\r\n")), "GET|old#");
}

TEST(ListenerTest, ASlowHeadIsRefused) {
  ListenerConfig options;
  options.head_limit = 50ms;
  TestServer server(echo, options);
  RawClient client(server.port());
  client.send("GET / HT");
  EXPECT_EQ(status_line(client.read_to_end()), "HTTP/1.1 408 Request Timeout");
}

TEST(ListenerTest, ABodyThatStallsIsAnError) {
  ListenerConfig options;
  options.body_limit = 30ms;
  std::promise<std::string> reason;
  auto handler = [&](SharedExchange exchange) -> asio::awaitable<void> {
    auto body = co_await exchange->read_body(100);
    reason.set_value(body ? "" : body.error().reason);
    co_await exchange->respond(text(408, "late"));
  };
  TestServer server(handler, options);
  RawClient client(server.port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab");
  EXPECT_EQ(status_line(client.read_answer()), "HTTP/1.1 408 Request Timeout");
  EXPECT_EQ(reason.get_future().get(), "body_timeout");
}

TEST(ListenerTest, AClientThatResetsEndsAHandlerThatReadsNoBody) {
  std::promise<void> gone;
  std::promise<void> here;
  const auto handler = [&](SharedExchange) -> asio::awaitable<void> {
    here.set_value();
    try {
      co_await sleep_for(std::chrono::hours(1));
    } catch (...) {
      gone.set_value();
      throw;
    }
  };
  TestServer server(handler);
  RawClient client(server.port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 500\r\n\r\nab");
  here.get_future().get();
  client.drop();
  EXPECT_EQ(gone.get_future().wait_for(10s), std::future_status::ready);
}

TEST(ListenerTest, AnIdleConnectionIsClosedSilently) {
  ListenerConfig options;
  options.idle_limit = 50ms;
  TestServer server(echo, options);
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  client.read_answer();
  EXPECT_EQ(client.read_to_end(), "");
}

TEST(ListenerTest, TooManyConnectionsAreTurnedAway) {
  ListenerConfig options;
  options.max_connections = 1;
  TestServer server(let_in, options);
  RawClient first(server.port());
  first.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  first.read_answer();
  const auto answer = RawClient(server.port()).read_answer();
  EXPECT_EQ(status_line(answer), "HTTP/1.1 503 Service Unavailable");
}

TEST(ListenerTest, InAFullPoolTheOldestOnWhichNobodyWasLetInGivesWay) {
  ListenerConfig options;
  options.max_connections = 4;
  TestServer server(
      [](SharedExchange exchange) {
        return exchange->head().target == "/in" ? let_in(exchange) : echo(exchange);
      },
      options);
  const auto ask_on = [](RawClient& client, const char* target) {
    client.send(std::string("GET ") + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
    return status_line(client.read_answer());
  };
  RawClient known(server.port());
  EXPECT_EQ(ask_on(known, "/in"), "HTTP/1.1 200 OK");
  RawClient talked(server.port());  // answered, but not let in
  EXPECT_EQ(ask_on(talked, "/out"), "HTTP/1.1 200 OK");
  std::vector<std::unique_ptr<RawClient>> idle;
  for (int i = 0; i < 20; ++i) {
    idle.push_back(std::make_unique<RawClient>(server.port()));
    RawClient client(server.port());
    ASSERT_EQ(ask_on(client, "/in"), "HTTP/1.1 200 OK") << i;
  }
  EXPECT_EQ(talked.read_to_end(), "");
  EXPECT_EQ(idle.front()->read_to_end(), "");
  EXPECT_EQ(ask_on(known, "/in"), "HTTP/1.1 200 OK");  // it stayed all the while
}

TEST(ListenerTest, TheFirstRequestHasToComeSoon) {
  ListenerConfig options;
  options.head_limit = 50ms;
  TestServer server(echo, options);
  EXPECT_EQ(RawClient(server.port()).read_to_end(),
            "");  // idle_limit is 75 s, and a read's limit in this test less
}

TEST(ListenerTest, AThrowingHandlerIsAnsweredWith500) {
  auto handler = [](SharedExchange) -> asio::awaitable<void> {
    throw std::runtime_error("broken");
    co_return;
  };
  TestServer server(handler);
  RawClient client(server.port());
  client.send("GET /x?secret=1 HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto answer = client.read_answer();
  EXPECT_EQ(status_line(answer), "HTTP/1.1 500 Internal Server Error");
  EXPECT_EQ(answer.find("broken"), std::string::npos);
}

TEST(ListenerTest, AHandlerIsCancelledWhenThePeerLeaves) {
  std::promise<std::string> end;
  std::promise<void> begun;
  auto handler = [&](SharedExchange exchange) -> asio::awaitable<void> {
    auto body = co_await exchange->read_body(100);
    begun.set_value();
    std::string how = "slept";
    try {
      co_await sleep_for(1h);
    } catch (...) {
      end.set_value(is_cancellation(std::current_exception()) ? "cancelled" : "other");
      throw;
    }
  };
  TestServer server(handler);
  RawClient client(server.port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi");
  begun.get_future().get();
  client.close();
  auto future = end.get_future();
  ASSERT_EQ(future.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(future.get(), "cancelled");
}

// Gives `total` bytes in pieces of 64 KiB; fails at `fail_at`, if that is not 0.
class Zeros final : public ByteSource {
 public:
  Zeros(std::uint64_t total, std::uint64_t fail_at, std::atomic<std::uint64_t>* given)
      : left_(total), fail_at_(fail_at), given_(given) {}
  Task<Bytes> next() override {
    if (fail_at_ != 0 && given_->load() >= fail_at_)
      co_return Error{Code::kLost, "lost", "spool gone", 0};
    Bytes piece(std::min<std::uint64_t>(left_, 64 * 1024), '\0');
    left_ -= piece.size();
    *given_ += piece.size();
    co_return piece;
  }

 private:
  std::uint64_t left_;
  std::uint64_t fail_at_;
  std::atomic<std::uint64_t>* given_;
};

// Freed memory stays resident under ASan (its quarantine), so the test has no meaning there.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CAY_QUARANTINE 1
#endif
#endif

std::size_t resident_kib() {
#ifdef CAY_QUARANTINE
  return 0;
#else
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long size = 0;
  unsigned long resident = 0;
  const int got = std::fscanf(file, "%lu %lu", &size, &resident);
  std::fclose(file);
  return got == 2 ? resident * 4 : 0;
#endif
}

TEST(ListenerTest, ALongStreamNeedsLittleMemoryAndWaitsForItsReader) {
  constexpr std::uint64_t kTotal = 256ull << 20;
  std::atomic<std::uint64_t> given = 0;
  auto handler = [&](SharedExchange exchange) -> asio::awaitable<void> {
    auto source = std::make_unique<Zeros>(kTotal, 0, &given);
    Headers headers;
    co_await exchange->respond_stream(200, headers, kTotal, std::move(source));
  };
  TestServer server(handler);
  const auto before = resident_kib();
  RawClient client(server.port(), 64 * 1024);
  client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_NE(client.read_some(4096).find("Content-Length: 268435456"), std::string::npos);
  std::uint64_t got = 0;
  EXPECT_LT(given.load(), 32u << 20);  // nobody reads: the source is not drained
  for (;;) {
    const auto piece = client.read_some(1 << 18).size();
    if (piece == 0) break;
    got += piece;
  }
  EXPECT_GE(got + 4096, kTotal);  // some came with the head
  EXPECT_LT(resident_kib(), before + 32 * 1024);
}

TEST(ListenerTest, ChunkedStreamsEndProperly) {
  std::atomic<std::uint64_t> given = 0;
  auto handler = [&](SharedExchange exchange) -> asio::awaitable<void> {
    auto source = std::make_unique<Zeros>(100'000, 0, &given);
    Headers headers;
    co_await exchange->respond_stream(200, headers, std::nullopt, std::move(source));
  };
  TestServer server(handler);
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(client.read_until("\r\n\r\n").find("Transfer-Encoding: chunked"), std::string::npos);
  EXPECT_EQ(client.read_until("\r\n"), "10000\r\n");
  client.read_exactly(65536 + 2);
  EXPECT_EQ(client.read_until("\r\n"), "86a0\r\n");
  client.read_exactly(34464);
  EXPECT_EQ(client.read_exactly(7), "\r\n0\r\n\r\n");
}

// RFC 9112, 6.1: such a client takes the chunks' sizes for bytes of the body.
TEST(ListenerTest, Http10GetsNoChunksAndTheEndIsTheConnections) {
  std::atomic<std::uint64_t> given = 0;
  auto handler = [&](SharedExchange exchange) -> asio::awaitable<void> {
    auto source =
        std::make_unique<Zeros>(100'000, exchange->head().target == "/fails" ? 1 << 16 : 0, &given);
    Headers headers;
    co_await exchange->respond_stream(200, headers, std::nullopt, std::move(source));
  };
  TestServer server(handler);
  for (const char* more : {"", "Connection: keep-alive\r\n"}) {
    RawClient client(server.port());
    given = 0;
    client.send(std::string("GET / HTTP/1.0\r\n") + more + "\r\n");
    const auto head = client.read_until("\r\n\r\n");
    EXPECT_EQ(head.find("Transfer-Encoding"), std::string::npos) << head;
    EXPECT_NE(head.find("Connection: close"), std::string::npos) << head;
    EXPECT_EQ(client.read_to_end(), std::string(100'000, '\0'));
    EXPECT_FALSE(client.was_reset());
  }
  const auto head = ask(server.port(), "HEAD / HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(head.starts_with("HTTP/1.1 200 ") && head.ends_with("\r\n\r\n") &&
              head.find("Transfer-Encoding") == std::string::npos)
      << head;
  RawClient cut(server.port());
  given = 0;
  cut.send("GET /fails HTTP/1.0\r\n\r\n");
  cut.read_to_end();
  EXPECT_TRUE(cut.was_reset()) << "or a part would pass for the whole";
}

TEST(ListenerTest, AFailingSourceBreaksTheConnection) {
  std::atomic<std::uint64_t> given = 0;
  auto handler = [&](SharedExchange exchange) -> asio::awaitable<void> {
    auto source = std::make_unique<Zeros>(1 << 20, 1 << 17, &given);
    Headers headers;
    co_await exchange->respond_stream(200, headers, std::nullopt, std::move(source));
  };
  TestServer server(handler);
  RawClient client(server.port());
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto all = client.read_to_end();
  EXPECT_FALSE(all.ends_with("0\r\n\r\n"));
  EXPECT_TRUE(client.was_reset());
}

TEST(ListenerTest, UploadsAreStreamedWithBackPressure) {
  auto handler = [](SharedExchange exchange) -> asio::awaitable<void> {
    auto body = exchange->body();
    std::uint64_t total = 0;
    for (;;) {
      auto piece = co_await body->next();
      if (!piece) co_return;
      if (piece->empty()) break;
      total += piece->size();
    }
    co_await exchange->respond(text(200, std::to_string(total)));
  };
  TestServer server(handler);
  const auto before = resident_kib();
  RawClient client(server.port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 67108864\r\n\r\n");
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 64; ++i) ASSERT_TRUE(client.send(piece));
  EXPECT_EQ(body_of(client.read_answer()), "67108864");
  EXPECT_LT(resident_kib(), before + 32 * 1024);
}

TEST(ListenerTest, ManyConnectionsAtOnce) {
  TestServer server(echo);
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 200; ++i) clients.push_back(std::make_unique<RawClient>(server.port()));
  for (int i = 0; i < 200; ++i) {
    clients[static_cast<std::size_t>(i)]->send("GET /" + std::to_string(i) +
                                               " HTTP/1.1\r\nHost: x\r\n\r\n");
  }
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(body_of(clients[static_cast<std::size_t>(i)]->read_answer()),
              "GET|" + std::to_string(i) + "#");
  }
}

TEST(ListenerTest, ShutdownLetsARequestEndAndClosesIdleConnections) {
  std::promise<void> begun;
  Event* release = nullptr;
  auto handler = [&](SharedExchange exchange) -> asio::awaitable<void> {
    begun.set_value();
    co_await release->wait();
    co_await exchange->respond(text(200, "done"));
  };
  TestServer server(handler);
  auto event = server.thread().call(
      [&] { return std::make_unique<Event>(server.thread().loop().get_executor()); });
  release = event.get();
  RawClient idle(server.port());
  RawClient busy(server.port());
  busy.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  begun.get_future().get();
  std::thread stopper([&] { server.thread().await(server.server().shutdown(10s)); });
  EXPECT_EQ(idle.read_to_end(), "");
  server.thread().call([&] { release->set(); });
  const auto answer = busy.read_to_end();
  EXPECT_EQ(body_of(answer), "done");
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  stopper.join();
  EXPECT_THROW(RawClient late(server.port()), std::runtime_error);
  server.thread().call([&] { event.reset(); });
}

TEST(ListenerTest, WhoIsLetInWhenItEndsGetsAnAnswer) {
  TestServer server(echo);
  RawClient served(server.port());
  served.send("GET /first HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(body_of(served.read_answer()), "GET|first#");
  std::vector<std::unique_ptr<RawClient>> clients;
  for (int i = 0; i < 20; ++i)
    clients.push_back(
        std::make_unique<RawClient>(server.port()));  // the last may still wait in the kernel
  RawClient silent(server.port());
  std::thread stopper([&] { server.thread().await(server.server().shutdown(10s)); });
  EXPECT_EQ(served.read_to_end(), "") << "it ends";
  for (const auto& client : clients) client->send("GET /late HTTP/1.1\r\nHost: x\r\n\r\n");
  for (const auto& client : clients) EXPECT_EQ(body_of(client->read_to_end()), "GET|late#");
  EXPECT_EQ(silent.read_to_end(), "") << "not for ever";
  stopper.join();
}

TEST(ListenerTest, ATakenPortIsSaidSo) {
  TestServer first(echo);
  testing::LoopThread thread;
  const auto start = [&](std::string address, std::uint16_t port) {
    return thread.call([&] {
      ListenerConfig config;
      config.address = address;
      config.port = port;
      Listener second(thread.loop().get_executor(), std::move(config), echo);
      return second.start();
    });
  };
  EXPECT_EQ(start("127.0.0.1", first.port()).error().reason, "address_in_use");
  EXPECT_EQ(start("not an address", 0).error().reason, "bad_address");
}

// The reader of the body uses the channel, which must not become another protocol's meanwhile.
TEST(ListenerTest, ARequestWithABodyIsNoWebSocketAndCannotBecomeOne) {
  TestServer server([](SharedExchange exchange) -> asio::awaitable<void> {
    const std::string seen = exchange->head().wants_websocket ? "websocket" : "plain";
    auto raw = co_await exchange->upgrade_raw({});
    if (raw) co_return;
    co_await exchange->respond(text(200, seen + " " + raw.error().reason));
  });
  const std::string asks = "Host: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n";
  const auto seen = [&](const std::string& line, const std::string& more) {
    return body_of(ask(server.port(), line + " HTTP/1.1\r\n" + asks + more));
  };
  EXPECT_EQ(seen("GET /", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), "plain bad_upgrade");
  EXPECT_EQ(seen("POST /", "Content-Length: 2\r\n\r\nab"), "plain bad_upgrade");
  EXPECT_TRUE(ask(server.port(), "GET / HTTP/1.1\r\n" + asks + "Content-Length: 0\r\n\r\n")
                  .starts_with("HTTP/1.1 101 "))
      << "the control";
}

}  // namespace
}  // namespace cay::http
