#include "vault/pass_response.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <optional>
#include <string>
#include <vector>

#include "async/channel.h"
#include "async/scope.h"

namespace cay::vault {
namespace {

constexpr const char* kSecret = "sk-live-0123456789abcdef";

// A server that sends scripted bytes, and a sandbox that keeps what it receives.
class PassResponseTest : public ::testing::Test {
 protected:
  PassResponseTest() { secrets.add(kSecret); }

  asio::awaitable<void> all() {
    const auto next = [this]() -> Task<Bytes> {
      auto piece = co_await said.pop();
      if (piece) co_return *std::move(piece);
      co_return Error{Code::kUnavailable, "connection_lost", "it broke", 0};
    };
    const auto take = [this](Bytes piece) -> Task<void> {
      got.push_back(std::move(piece));
      co_return Result<void>();
    };
    auto passing = pass(loop.get_executor(), *scanner, next, take);
    auto passed = co_await std::move(passing);
    ended = passed ? "whole" : passed.error().reason;
  }
  void begin() { scope.spawn(all()); }
  // Until nothing more happens by itself, the end of a silence included.
  void settle(const std::function<bool()>& until) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!until() && std::chrono::steady_clock::now() < end) {
      loop.restart();
      loop.run_for(std::chrono::milliseconds(2));
    }
    EXPECT_TRUE(until());
  }
  // In the same loop, begun later: what a silence does has been done.
  void wait_for_a_pause() {
    settle([&] { return said.size() == 0; });
    asio::steady_timer silence(loop, kPause + kPause);
    bool over = false;
    silence.async_wait([&](const boost::system::error_code&) { over = true; });
    settle([&] { return over; });
  }
  std::string text() const {
    std::string out;
    for (const std::string& one : got) out += one;
    return out;
  }

  asio::io_context loop;
  SecretMatcher secrets;
  std::optional<ResponseScanner> scanner{std::in_place, secrets, MessageBoundaries::Kind::kEvents};
  Channel<Bytes> said{loop.get_executor(), 100};
  std::vector<Bytes> got;
  std::optional<std::string> ended;
  Scope scope{loop.get_executor()};
};

TEST_F(PassResponseTest, AnEventGoesOnAfterASilenceAndTheEndComesAtOnce) {
  begin();
  EXPECT_TRUE(said.try_push("data: one\n\n"));
  settle([&] { return text() == "data: one\n\n"; });
  EXPECT_TRUE(said.try_push("data: two\n\n"));
  settle([&] { return text() == "data: one\n\ndata: two\n\n"; });
  EXPECT_FALSE(ended);
  EXPECT_TRUE(said.try_push("data: [DONE]\n\n"));
  EXPECT_TRUE(said.try_push(""));
  settle([&] { return ended == "whole"; });
  EXPECT_EQ(text(), "data: one\n\ndata: two\n\ndata: [DONE]\n\n");
}

TEST_F(PassResponseTest, ASilenceWithinASecretLetsNothingOfItGo) {
  begin();
  EXPECT_TRUE(said.try_push("data: one\n\ndata: you sent sk-live-0123"));
  settle([&] { return text() == "data: one\n\n"; });  // a silence has passed
  EXPECT_TRUE(said.try_push("4567"));
  wait_for_a_pause();
  EXPECT_TRUE(said.try_push("89abcdef!"));
  settle([&] { return ended == "secret_reflected"; });
  EXPECT_EQ(text(), "data: one\n\n");
}

TEST_F(PassResponseTest, WhereNothingSaysWhatIsWholeASilenceLetsNothingGo) {
  scanner.emplace(secrets);
  begin();
  EXPECT_TRUE(said.try_push("data: one\n\n"));
  wait_for_a_pause();
  EXPECT_EQ(text(), "");
  EXPECT_TRUE(said.try_push(""));
  settle([&] { return ended == "whole"; });
  EXPECT_EQ(text(), "data: one\n\n") << "its end does";
}

TEST_F(PassResponseTest, WhatBreaksOffDropsWhatWasHeldBack) {
  EXPECT_TRUE(said.try_push(std::string(secrets.longest() + 9, 'x')));
  said.close();
  begin();
  settle([&] { return ended == "connection_lost"; });
  EXPECT_EQ(text(), std::string(10, 'x'));
}

}  // namespace
}  // namespace cay::vault
