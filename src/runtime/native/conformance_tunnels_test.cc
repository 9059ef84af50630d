// Tunnels through a real keeper, over UNIX and TCP.
#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <future>
#include <thread>

#include "async/event.h"
#include "async/scope.h"
#include "base/testing/tcp.h"
#include "keeper/tunnels.h"
#include "runtime/keeper/testing/conformance.h"
#include "runtime/native/passed_tunnels.h"

namespace cay::runtime::testing {
namespace {

using cay::testing::Listener;
using cay::testing::read_bytes;
using cay::testing::write_bytes;
using keeper::testing::Transport;

class TunnelsTest : public ConformanceTest {
 protected:
  KeeperExtras extras() override { return {.tunnels = std::make_shared<PassedTunnels>(line_)}; }

  static std::string bytes_of(std::size_t size) {
    std::string out(size, '\0');
    std::uint32_t state = 1;
    for (char& byte : out) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Over, TunnelsTest, ::testing::Values(Transport::kUnix, Transport::kTcp),
                         transport_name);

asio::awaitable<void> write_all(core::Tunnel& tunnel, std::string bytes) {
  for (std::size_t at = 0; at < bytes.size(); at += 100'000) {
    auto done = co_await tunnel.write(bytes.substr(at, 100'000));
    EXPECT_TRUE(done) << done.error().message;
  }
  auto shut = co_await tunnel.shut_write();
  EXPECT_TRUE(shut);
}

asio::awaitable<std::string> read_all(core::Tunnel& tunnel) {
  std::string all;
  while (true) {
    auto bytes = co_await tunnel.read();
    EXPECT_TRUE(bytes) << bytes.error().message;
    if (!bytes || bytes->empty()) break;
    all += *bytes;
  }
  co_return all;
}

TEST_P(TunnelsTest, MuchGoesBothWaysAtOnce) {
  const Listener listener;
  const std::string there = bytes_of(8 << 20), back = bytes_of(6 << 20);
  std::string arrived;
  Event taken(loop_.get_executor());
  std::thread program([&] {
    const UniqueFd end = listener.accept();
    std::thread writing([&] {
      EXPECT_TRUE(write_bytes(end, back));
      ::shutdown(end.get(), SHUT_WR);
    });
    arrived = read_bytes(end, SIZE_MAX);
    writing.join();
    asio::post(loop_, [&] { taken.set(); });
  });
  play([&]() -> asio::awaitable<void> {
    auto tunnel = co_await box_->open_tunnel(listener.port());
    EXPECT_TRUE(tunnel) << tunnel.error().message;
    if (!tunnel) co_return;
    Scope scope(loop_.get_executor());
    scope.spawn(write_all(**tunnel, there));
    auto got = co_await read_all(**tunnel);
    EXPECT_TRUE(got == back);
    co_await scope.join();
    co_await taken.wait();  // a write is on its way when it returns, and the loop carries it
  });
  program.join();
  EXPECT_TRUE(arrived == there);
}

TEST_P(TunnelsTest, WhatWasWrittenArrivesAfterBothEnded) {
  const Listener listener;
  const std::string piece = bytes_of(8'192);
  std::string arrived;
  std::size_t written = 0;
  Event taken(loop_.get_executor());
  std::promise<void> let_go;
  std::thread program([&] {
    const UniqueFd end = listener.accept();
    ::shutdown(end.get(), SHUT_WR);
    let_go.get_future().wait();
    arrived = read_bytes(end, SIZE_MAX);
    asio::post(loop_, [&] { taken.set(); });
  });
  auto fill = [&](core::Tunnel& tunnel) -> asio::awaitable<void> {
    for (;;) {
      auto done = co_await tunnel.write(piece);
      EXPECT_TRUE(done);
      written += piece.size();
    }
  };
  auto until_full = [&]() -> asio::awaitable<void> {
    for (int round = 0; round < 20; ++round) {
      const std::size_t before = written;
      auto stats = co_await box_->stats();
      EXPECT_TRUE(stats);
      if (written != before) round = 0;
    }
  };
  play([&]() -> asio::awaitable<void> {
    auto tunnel = co_await box_->open_tunnel(listener.port());
    EXPECT_TRUE(tunnel) << tunnel.error().message;
    if (!tunnel) co_return;
    auto got = co_await read_all(**tunnel);
    EXPECT_TRUE(got.empty());
    {
      Scope filling(loop_.get_executor());
      filling.spawn(fill(**tunnel));
      co_await filling.until(
          until_full());  // now the keeper holds what the kernel's buffers do not
    }
    auto shut = co_await (*tunnel)->shut_write();
    EXPECT_TRUE(shut);
    tunnel->reset();
    auto stats = co_await box_->stats();  // the keeper has come to what was sent before
    EXPECT_TRUE(stats);
    let_go.set_value();
    co_await taken.wait();
  });
  program.join();
  EXPECT_GT(written, keeper::Tunnels::kWindow);
  EXPECT_GE(arrived.size(), written);
  EXPECT_LT(arrived.size(),
            written + piece.size());  // of the last piece, what there was credit for
}

TEST_P(TunnelsTest, RefusalsAndResetsAreTyped) {
  std::uint16_t nobody = 0;
  {
    nobody = Listener().port();
  }
  const Listener listener;
  play([&]() -> asio::awaitable<void> {
    auto refused = co_await box_->open_tunnel(nobody);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kNotReady);
    EXPECT_EQ(refused.error().reason, "connect_refused");
    auto tunnel = co_await box_->open_tunnel(listener.port());
    EXPECT_TRUE(tunnel);
    if (!tunnel) co_return;
    UniqueFd end = listener.accept();
    EXPECT_TRUE(write_bytes(end, "last words"));
    auto got = co_await (*tunnel)->read();
    EXPECT_TRUE(got && *got == "last words");
    cay::testing::break_off(std::move(end));
    auto broken = co_await (*tunnel)->read();
    EXPECT_FALSE(broken);
    EXPECT_EQ(broken.error().reason, "connection_reset");
    auto late = co_await (*tunnel)->write("x");
    EXPECT_FALSE(late);
  });
}

TEST_P(TunnelsTest, DroppingOneResetsIt) {
  const Listener listener;
  play([&]() -> asio::awaitable<void> {
    auto tunnel = co_await box_->open_tunnel(listener.port());
    EXPECT_TRUE(tunnel);
    if (!tunnel) co_return;
    const UniqueFd end = listener.accept();
    tunnel->reset();
    auto stats = co_await box_->stats();  // the keeper has come to what was sent before
    EXPECT_TRUE(stats);
    char byte = 0;
    EXPECT_EQ(::recv(end.get(), &byte, 1, 0), -1);
  });
}

TEST_P(TunnelsTest, PortZeroIsNone) {
  play([&]() -> asio::awaitable<void> {
    auto refused = co_await box_->open_tunnel(0);
    EXPECT_FALSE(refused);
    EXPECT_EQ(refused.error().reason, "invalid_port");
  });
}

}  // namespace
}  // namespace cay::runtime::testing
