// Bodies of requests that stay in the kernel on their way to a service.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "async/piped.h"
#include "http/listener.h"
#include "http/testing/loop_thread.h"
#include "http/testing/pattern.h"
#include "http/testing/raw_client.h"

namespace cay::http {
namespace {

using testing::pattern;
using testing::RawClient;
using testing::TestServer;

constexpr std::size_t kTotal = 8 << 20;

struct Seen {
  std::string bytes;
  std::size_t piped = 0;
  std::string failed;
};

// Takes a body as a gateway does: through the kernel where it can be had so.
asio::awaitable<void> take_body(std::shared_ptr<Exchange> exchange, Seen& seen) {
  auto body = exchange->body();
  auto* kernels = dynamic_cast<PipedSource*>(body.get());
  for (;;) {
    if (kernels != nullptr && kernels->can_splice()) {
      auto pipe = co_await kernels->next_piped();
      if (!pipe) {
        seen.failed = pipe.error().reason;
        co_return;
      }
      seen.piped += pipe->size();
      int ends[2];
      if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
        co_return;
      const UniqueFd near(ends[0]), far(ends[1]);
      std::string piece(64 * 1024, '\0');
      while (!pipe->empty()) {
        static_cast<void>(pipe->give(near.get()));
        for (ssize_t got = 0;
             (got = ::recv(far.get(), piece.data(), piece.size(), MSG_DONTWAIT)) > 0;) {
          seen.bytes.append(piece, 0, static_cast<std::size_t>(got));
        }
      }
      continue;
    }
    auto piece = co_await body->next();
    if (!piece) {
      seen.failed = piece.error().reason;
      co_return;
    }
    if (piece->empty()) break;
    seen.bytes += *piece;
  }
  Response done;
  done.body = "taken";
  co_await exchange->respond(std::move(done));
}

std::string put(std::size_t length) {
  return "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(length) + "\r\n\r\n";
}

TEST(PipedBodyTest, AllOfItComesInOrderAndTheNextRequestIsTheNext) {
  std::vector<Seen> seen(2);
  std::atomic<std::size_t> number = 0;
  TestServer server([&](std::shared_ptr<Exchange> exchange) {
    return take_body(std::move(exchange), seen[number++]);
  });
  RawClient client(server.port());
  const std::string whole = pattern(kTotal);
  client.send(put(kTotal) + whole + put(3) + "abc");
  EXPECT_NE(client.read_answer().find("taken"), std::string::npos);
  EXPECT_NE(client.read_answer().find("taken"), std::string::npos);
  EXPECT_TRUE(seen[0].bytes == whole);
  EXPECT_GT(seen[0].piped, kTotal / 2) << "the control: it went by way of the kernel";
  EXPECT_EQ(seen[1].bytes, "abc");
}

TEST(PipedBodyTest, AChunkedOneIsRead) {
  Seen seen;
  TestServer server(
      [&](std::shared_ptr<Exchange> exchange) { return take_body(std::move(exchange), seen); });
  RawClient client(server.port());
  client.send(
      "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  EXPECT_NE(client.read_answer().find("taken"), std::string::npos);
  EXPECT_EQ(seen.bytes, "abcde");
  EXPECT_EQ(seen.piped, 0U);
}

TEST(PipedBodyTest, OneThatBreaksOffIsNoShortBody) {
  Seen seen;
  std::promise<void> over;
  TestServer server([&](std::shared_ptr<Exchange> exchange) -> asio::awaitable<void> {
    co_await take_body(std::move(exchange), seen);
    over.set_value();
  });
  {
    RawClient client(server.port());
    client.send(put(kTotal) + pattern(kTotal / 2));
  }
  over.get_future().wait();
  EXPECT_EQ(seen.failed, "connection_lost");
}

TEST(PipedBodyTest, OneThatStallsIsAnError) {
  ListenerConfig options;
  options.body_limit = Millis{30};
  Seen seen;
  std::promise<void> over;
  TestServer server(
      [&](std::shared_ptr<Exchange> exchange) -> asio::awaitable<void> {
        co_await take_body(std::move(exchange), seen);
        over.set_value();
      },
      options);
  RawClient client(server.port());
  client.send(put(10) + "abc");
  over.get_future().wait();
  EXPECT_EQ(seen.failed, "body_timeout");
}

}  // namespace
}  // namespace cay::http
