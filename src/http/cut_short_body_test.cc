// A handler answers before it has read all of a body, and gives its read up just as more of it
// comes. These bytes still belong to that request, and the next one begins behind them.
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <future>
#include <memory>

#include "async/piped.h"
#include "async/scope.h"
#include "base/unique_fd.h"
#include "http/listener.h"
#include "http/testing/loop_thread.h"
#include "http/testing/raw_client.h"
#include "http/testing/text_answer.h"

namespace cay::http {
namespace {

using testing::RawClient;
using testing::TestServer;
using testing::text;

enum class How { kRead, kPiped };

asio::awaitable<void> read_one(ByteSource& body, How how) {
  if (how == How::kPiped) {
    auto& piped = dynamic_cast<PipedSource&>(body);
    EXPECT_TRUE(piped.can_splice());
    auto pipe = co_await piped.next_piped();
    static_cast<void>(pipe);
  } else {
    auto piece = co_await body.next();
    static_cast<void>(piece);
  }
}

// As a service does that answers and reads no more.
class EarlyAnswer {
 public:
  explicit EarlyAnswer(How how) : how_(how) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    word_ = UniqueFd(ends[0]);
    say_ = UniqueFd(ends[1]);
  }

  asio::awaitable<void> serve(std::shared_ptr<Exchange> exchange) {
    if (exchange->head().method == "GET") {
      co_await exchange->respond(text(200, "next"));
      co_return;
    }
    const auto loop = co_await asio::this_coro::executor;
    asio::posix::stream_descriptor word(loop, word_.release());
    auto body = exchange->body();
    Scope reading(loop);
    reading.spawn(read_one(*body, how_));
    reads_.set_value();
    co_await reading.until(
        word.async_wait(asio::posix::stream_descriptor::wait_read, asio::use_awaitable));
    co_await exchange->respond(text(200, "early"));
  }

  // Returns once its read has begun.
  void begins(TestServer& server) {
    reads_.get_future().wait();
    for (int turn = 0; turn < 100; ++turn) server.thread().call([] {});
  }
  void answer() { EXPECT_EQ(::write(say_.get(), "x", 1), 1); }

 private:
  const How how_;
  UniqueFd word_, say_;
  std::promise<void> reads_;
};

// While it does, what comes to the loop comes to it at once, in the order in which it came.
class Held {
 public:
  explicit Held(TestServer& server) {
    const auto held = std::make_shared<std::promise<void>>();
    asio::post(server.thread().loop(), [held, go = go_.get_future().share()] {
      held->set_value();
      go.wait();
    });
    held->get_future().wait();
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { go_.set_value(); }

 private:
  std::promise<void> go_;
};

std::string second_answer(How how, const std::string& framing, const std::string& body) {
  EarlyAnswer early(how);
  ListenerConfig options;
  options.body_limit = Millis{5'000};
  TestServer server(
      [&](std::shared_ptr<Exchange> exchange) { return early.serve(std::move(exchange)); },
      options);
  RawClient client(server.port());
  client.send("POST / HTTP/1.1\r\nHost: x\r\n" + framing + "\r\n\r\n");
  early.begins(server);
  {
    const Held held(server);
    client.send(body);
    early.answer();
  }
  EXPECT_NE(client.read_answer().find("early"), std::string::npos);
  client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  return client.read_answer();
}

const std::string kBody = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";

TEST(CutShortBodyTest, OfAKnownLength) {
  EXPECT_TRUE(second_answer(How::kRead, "Content-Length: " + std::to_string(kBody.size()), kBody)
                  .ends_with("\r\n\r\nnext"));
}

TEST(CutShortBodyTest, ByWayOfTheKernel) {
  EXPECT_TRUE(second_answer(How::kPiped, "Content-Length: " + std::to_string(kBody.size()), kBody)
                  .ends_with("\r\n\r\nnext"));
}

TEST(CutShortBodyTest, InChunks) {
  const std::string chunked = "3\r\nabc\r\n1f\r\n" + kBody.substr(0, 31) + "\r\n0\r\n\r\n";
  EXPECT_TRUE(
      second_answer(How::kRead, "Transfer-Encoding: chunked", chunked).ends_with("\r\n\r\nnext"));
}

}  // namespace
}  // namespace cay::http
