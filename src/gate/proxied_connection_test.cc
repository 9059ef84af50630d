#include "gate/proxied_connection.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>

#include "async/scope.h"
#include "async/testing.h"
#include "os/unix_socket.h"

namespace cay::gate {
namespace {

class ProxiedConnectionTest : public ::testing::Test {
 protected:
  ProxiedConnectionTest() {
    auto inside = os::socket_pair();
    auto outside = os::socket_pair();
    EXPECT_TRUE(inside && outside);
    for (const auto* one : {&*inside, &*outside})
      EXPECT_EQ(::fcntl(one->ours.get(), F_SETFL, O_NONBLOCK), 0);
    guest_ = std::move(inside->theirs);
    server_ = std::move(outside->theirs);
    connection_ = std::make_shared<ProxiedConnection>(
        loop_.get_executor(), Descriptor(loop_, inside->ours.release()),
        Descriptor(loop_, outside->ours.release()), left_);
    connection_->expected = Proof::kHttp;
  }
  static void say(const UniqueFd& fd, std::string_view bytes) {
    ASSERT_EQ(::send(fd.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  }
  static std::string heard(const UniqueFd& fd) {
    char buffer[256];
    const ssize_t got = ::recv(fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    return {buffer, got > 0 ? static_cast<std::size_t>(got) : 0};
  }
  void run_some() {
    loop_.restart();
    loop_.poll();
  }

  asio::io_context loop_;
  UniqueFd guest_, server_;
  ByteQuotas left_;
  std::shared_ptr<ProxiedConnection> connection_;
  PipePool pipes_;
};

asio::awaitable<void> wait(std::shared_ptr<ProxiedConnection> connection, std::string& kept,
                           std::optional<Received>& answered) {
  const Received got = co_await wait_for_answer(*connection, kept);
  answered = got;
}

TEST_F(ProxiedConnectionTest, WhatIsSaidBeforeTheAnswerIsKept) {
  Scope ways(loop_.get_executor());
  std::string kept;
  std::optional<Received> answered;
  ways.spawn(one_way(connection_, Way::kBack, pipes_, Buffers::kTiny));
  ways.spawn(wait(connection_, kept, answered));
  say(guest_, "more");
  run_some();
  EXPECT_EQ(kept, "more");
  EXPECT_FALSE(answered);
  say(server_, "HTTP/1.1 10");
  run_some();
  EXPECT_FALSE(answered);
  EXPECT_EQ(heard(guest_), "HTTP/1.1 10");
  say(server_, "1 Switching\r\n\r\nframe");
  run_some();
  EXPECT_EQ(answered, Received::kSome);
  EXPECT_EQ(connection_->answer, FirstAnswer::kSwitches);
  EXPECT_EQ(heard(guest_), "1 Switching\r\n\r\nframe");
  say(server_, "later");
  run_some();
  EXPECT_EQ(heard(guest_), "later");
  EXPECT_EQ(connection_->record.received, 11U + 20 + 5);
  ways.cancel();
  run_some();
}

TEST_F(ProxiedConnectionTest, AServerThatEndsHasAnswered) {
  Scope ways(loop_.get_executor());
  std::string kept;
  std::optional<Received> answered;
  ways.spawn(one_way(connection_, Way::kBack, pipes_, Buffers::kTiny));
  ways.spawn(wait(connection_, kept, answered));
  run_some();
  ::shutdown(server_.get(), SHUT_WR);
  run_some();
  EXPECT_EQ(answered, Received::kSome);
  EXPECT_EQ(connection_->answer, FirstAnswer::kOther);
  ways.cancel();
  run_some();
}

TEST_F(ProxiedConnectionTest, AGuestThatEndsOrAConnectionThatBreaksWaitsForNothing) {
  Scope ways(loop_.get_executor());
  std::string kept;
  std::optional<Received> answered;
  ways.spawn(wait(connection_, kept, answered));
  ::shutdown(guest_.get(), SHUT_WR);
  run_some();
  EXPECT_EQ(answered, Received::kEnd);
  connection_->broken = true;
  answered.reset();
  ways.spawn(wait(connection_, kept, answered));
  run_some();
  EXPECT_EQ(answered, Received::kBroken);
  ways.cancel();
  run_some();
}

TEST_F(ProxiedConnectionTest, NotAByteMoreThanIsAllowedGoesOn) {
  int ended = 0;
  left_ = {.sent = ByteQuota(), .received = ByteQuota(100, 90), .when_used_up = [&] { ++ended; }};
  connection_->expected.reset();
  Scope ways(loop_.get_executor());
  ways.spawn(one_way(connection_, Way::kBack, pipes_, Buffers::kTiny));
  ways.spawn(one_way(connection_, Way::kOut, pipes_, Buffers::kTiny));
  say(server_, "1234");
  say(guest_, "what goes the other way has no end");
  run_some();
  EXPECT_EQ(heard(guest_), "1234");
  EXPECT_EQ(heard(server_), "what goes the other way has no end");
  EXPECT_EQ(ended, 0);
  say(server_, "567890 and more");
  run_some();
  EXPECT_EQ(heard(guest_), "567890");
  EXPECT_EQ(ended, 1);
  EXPECT_TRUE(connection_->broken);
  EXPECT_EQ(connection_->record.received, 10U);
  run_some();
}

// A part that was read to be looked at goes on whole, or not at all.
TEST_F(ProxiedConnectionTest, WhatIsLookedAtIsOfTheAllowanceToo) {
  int ended = 0;
  left_ = {
      .sent = ByteQuota(30, 0), .received = ByteQuota(20, 0), .when_used_up = [&] { ++ended; }};
  Scope ways(loop_.get_executor());
  ways.spawn(one_way(connection_, Way::kBack, pipes_, Buffers::kTiny));
  say(server_, "HTTP/1.1 10");
  run_some();
  EXPECT_EQ(heard(guest_), "HTTP/1.1 10");
  say(server_, "1 Switching\r\n");
  run_some();
  EXPECT_EQ(heard(guest_), "");
  EXPECT_EQ(ended, 1);
  EXPECT_TRUE(connection_->broken);
  EXPECT_TRUE(may_pass(*connection_, Way::kOut, 30));
  EXPECT_FALSE(may_pass(*connection_, Way::kOut, 1));
  EXPECT_EQ(ended, 2);
  run_some();
}

TEST(ByteQuotaTest, WhatMayGoIsOnRecordBeforeItGoes) {
  constexpr std::uint64_t kPart = 64 << 10;
  std::vector<std::uint64_t> aside;
  ByteQuota one(3 * kPart, 10, [&](std::uint64_t up_to) { aside.push_back(up_to); });
  EXPECT_EQ(one.of(100), 100U);
  EXPECT_EQ(aside, std::vector<std::uint64_t>({10 + kPart}));
  one.take(100);
  EXPECT_EQ(one.of(1 << 20), kPart - 100) << "the rest of the part first";
  one.take(kPart - 100);
  EXPECT_EQ(one.of(1), 1U);
  EXPECT_EQ(aside.back(), 10 + 2 * kPart);
  EXPECT_TRUE(one.has(2 * kPart - 10)) << "whole, though it is more than a part";
  EXPECT_EQ(aside.back(), 3 * kPart);
  EXPECT_FALSE(one.has(2 * kPart - 9));
  one.take(2 * kPart - 10);
  EXPECT_TRUE(one.is_used_up());
  EXPECT_EQ(one.of(1), 0U);
  EXPECT_EQ(aside.size(), 3U);
  ByteQuota without_end;
  without_end.take(1ull << 62);
  EXPECT_TRUE(without_end.has(1ull << 63));
  EXPECT_EQ(without_end.of(1 << 20), 1U << 20);
}

}  // namespace
}  // namespace cay::gate
