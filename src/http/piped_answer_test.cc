// Answers whose bytes come from a socket: head and first bytes in one write, the rest by way of the
// kernel.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <thread>

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

// A source of the bytes that the far end of a socket pair sends, after `early`, which is here
// already.
class Socketed final : public PipedSource {
 public:
  Socketed(asio::any_io_executor loop, int near, std::string early, std::atomic<std::size_t>& piped)
      : socket_(std::move(loop), asio::generic::stream_protocol(AF_UNIX, 0), near),
        early_(std::move(early)),
        piped_(piped) {}
  Task<Bytes> next() override {  // there is nothing more than what was piped
    if (over_) co_return Bytes();
    co_return Error{Code::kLost, "lost", "the service broke off", 0};
  }
  std::optional<Bytes> come() override {
    if (early_.empty()) return std::nullopt;
    return std::exchange(early_, {});
  }
  bool can_splice() const override { return early_.empty() && !over_; }
  Task<KernelPipe> next_piped() override {
    boost::system::error_code failed;
    CAY_CO_TRY(KernelPipe pipe, co_await take_from(socket_, KernelPipe::kMost, failed));
    if (failed || pipe.empty()) co_return Error{Code::kLost, "lost", "the service broke off", 0};
    piped_ += pipe.size();
    over_ = piped_ + kEarly >= kTotal;
    co_return pipe;
  }
  static constexpr std::size_t kEarly = 5;

 private:
  KernelSocket socket_;
  std::string early_;
  std::atomic<std::size_t>& piped_;
  bool over_ = false;
};

class PipedAnswerTest : public ::testing::Test {
 protected:
  // All that a client is sent, while the service sends `sent` bytes and ends.
  std::string answer(std::size_t sent) {
    const std::string whole = pattern(kTotal);
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    auto handler = [&](std::shared_ptr<Exchange> exchange) -> asio::awaitable<void> {
      const auto loop = co_await asio::this_coro::executor;
      auto source =
          std::make_unique<Socketed>(loop, ends[1], whole.substr(0, Socketed::kEarly), piped);
      Headers headers;
      co_await exchange->respond_stream(200, headers, kTotal, std::move(source));
    };
    TestServer server(handler);
    std::thread service([&] {
      for (std::size_t at = Socketed::kEarly; at < sent;) {
        const auto now = ::send(ends[0], whole.data() + at,
                                std::min<std::size_t>(sent - at, 100'000), MSG_NOSIGNAL);
        if (now <= 0) break;
        at += static_cast<std::size_t>(now);
      }
      ::close(ends[0]);
    });
    RawClient client(server.port());
    client.send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    auto got = client.read_to_end();
    service.join();
    return got;
  }
  std::atomic<std::size_t> piped = 0;
};

TEST_F(PipedAnswerTest, AllOfItComesAndInOrder) {
  const auto got = answer(kTotal);
  const auto at = got.find("\r\n\r\n");
  ASSERT_NE(at, std::string::npos);
  EXPECT_TRUE(got.substr(at + 4) == pattern(kTotal));
  EXPECT_EQ(piped, kTotal - Socketed::kEarly) << "the control: it went by way of the kernel";
}

TEST_F(PipedAnswerTest, OneThatBreaksOffIsNoShortAnswer) {
  const auto got = answer(kTotal / 2);
  EXPECT_LT(got.size(), kTotal);
  EXPECT_NE(got.find("Content-Length: 8388608"), std::string::npos) << "the client can tell";
}

}  // namespace
}  // namespace cay::http
