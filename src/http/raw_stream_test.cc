// RawStream over real sockets, plain and by TLS: who waits holds nothing, and all that comes is
// read.
#include "http/raw_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "async/scope.h"
#include "base/testing/held_bytes.h"
#include "base/testing/tcp.h"
#include "http/testing/certificates.h"

namespace cay::http {
namespace {

using cay::testing::held_bytes;

constexpr std::size_t kKi = 1024;

class RawStreamTest : public ::testing::Test {
 protected:
  RawStreamTest()
      : server_context(asio::ssl::context::tls_server),
        client_context(asio::ssl::context::tls_client) {
    const std::string pem = authority.sign("DNS:localhost");
    server_context.use_certificate_chain_file(pem);
    server_context.use_private_key_file(pem, asio::ssl::context::pem);
  }
  ~RawStreamTest() override { end_all(); }

  // Runs in the loop: a child that has ended is not signalled again.
  void end_all() {
    bool told = false;
    asio::post(loop, [&] {
      scope.cancel();
      told = true;
    });
    turns([&] { return told && scope.running() == 0; });
  }
  Transport transport(UniqueFd fd) {
    return Transport(asio::generic::stream_protocol::socket(
        loop, asio::generic::stream_protocol(AF_INET, IPPROTO_TCP), fd.release()));
  }
  void turns(const std::function<bool()>& until) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!until() && std::chrono::steady_clock::now() < end) {
      loop.restart();
      loop.run_for(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE(until());
  }
  void some_turns() {
    loop.restart();
    loop.run_for(std::chrono::milliseconds(50));
  }

  struct Ends {
    std::shared_ptr<Channel> server, client;
  };
  Ends ends(bool secured) {
    cay::testing::TcpPair tcp;
    if (!secured)
      return {std::make_shared<Channel>(transport(std::move(tcp.ours))),
              std::make_shared<Channel>(transport(std::move(tcp.theirs)))};
    Ends out{std::make_shared<Channel>(transport(std::move(tcp.ours)), server_context),
             std::make_shared<Channel>(transport(std::move(tcp.theirs)), client_context)};
    int shaken = 0;
    const auto shake = [](std::shared_ptr<Channel> one, asio::ssl::stream_base::handshake_type as,
                          int* count) -> asio::awaitable<void> {
      ErrorCode error;
      co_await one->secured()->async_handshake(as, to(error));
      *count += error ? 0 : 1;
    };
    scope.spawn(shake(out.server, asio::ssl::stream_base::server, &shaken));
    scope.spawn(shake(out.client, asio::ssl::stream_base::client, &shaken));
    turns([&] { return shaken == 2; });
    return out;
  }

  struct Read {
    std::string all;
    std::size_t most = 0, pieces = 0;  // of a piece
    bool ended = false;
  };
  static asio::awaitable<void> read_all(std::shared_ptr<Channel> from, Read* into) {
    RawStream stream(std::move(from), {});
    for (;;) {
      auto piece = co_await stream.read();
      if (!piece || piece->empty()) break;
      into->all += *piece;
      into->most = std::max(into->most, piece->size());
      ++into->pieces;
    }
    into->ended = true;
  }
  static asio::awaitable<void> write(std::shared_ptr<Channel> into, std::string what) {
    RawStream stream(std::move(into), {});
    auto written = co_await stream.write(std::move(what));
    EXPECT_TRUE(written);
    auto shut = co_await stream.shut_write();
    static_cast<void>(shut);
    co_await stream.let_arrive();
  }
  static std::string pattern(std::size_t size) {
    std::string out(size, '\0');
    for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>((i * 2654435761U) >> 24);
    return out;
  }

  asio::io_context loop;
  testing::Authority authority{"test"};
  asio::ssl::context server_context, client_context;
  Scope scope{loop.get_executor()};
};

TEST_F(RawStreamTest, WhoWaitsHoldsNothing) {
  constexpr std::size_t kMany = 32;
  for (const bool secured : {false, true}) {
    std::vector<Ends> all;
    std::vector<Read> got(kMany);
    for (std::size_t i = 0; i < kMany; ++i) all.push_back(ends(secured));
    const std::size_t before = held_bytes();
    for (std::size_t i = 0; i < kMany; ++i) scope.spawn(read_all(all[i].server, &got[i]));
    some_turns();
    EXPECT_LT(held_bytes(), before + kMany * 8 * kKi)
        << "each has a coroutine, and no buffer; by TLS: " << secured;
    {
      const std::vector<std::string> control(kMany, std::string(64 * kKi, 'x'));
      EXPECT_GT(held_bytes(), before + kMany * 64 * kKi) << "the control: what is held is seen";
    }
    for (std::size_t i = 0; i < kMany; ++i) scope.spawn(write(all[i].client, "a word"));
    turns([&] {
      return std::ranges::all_of(got, [](const Read& one) { return one.all == "a word"; });
    });
    if (!secured) turns([&] { return std::ranges::all_of(got, &Read::ended); });
    end_all();  // before what they read into goes
  }
}

TEST_F(RawStreamTest, AllThatComesIsReadInLargePiecesWhereThereIsMuch) {
  for (const bool secured : {false, true}) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{5000}, 16 * kKi + 1, 4096 * kKi}) {
      Read got;
      const Ends both = ends(secured);
      const std::string sent = pattern(size);
      scope.spawn(read_all(both.server, &got));
      scope.spawn(write(both.client, sent));
      turns([&] { return got.all.size() >= size; });
      EXPECT_EQ(got.all, sent);
      if (size > 1024 * kKi) {
        EXPECT_GE(got.most, secured ? 16 * kKi : 64 * kKi);
        EXPECT_LT(got.pieces, secured ? 1024U : 200U);
      }
      end_all();
    }
  }
}

TEST_F(RawStreamTest, AResetEndsWhoWaits) {
  for (const bool secured : {false, true}) {
    Read got;
    const Ends both = ends(secured);
    scope.spawn(read_all(both.server, &got));
    some_turns();
    EXPECT_FALSE(got.ended);
    RawStream::reset(*both.server);
    turns([&] { return got.ended; });
    end_all();
  }
}

}  // namespace
}  // namespace cay::http
