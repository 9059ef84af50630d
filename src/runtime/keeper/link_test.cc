// A Link against a peer that breaks every rule of the protocol.
#include "runtime/keeper/link.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "async/scope.h"
#include "async/testing.h"
#include "runtime/keeper/channel.h"
#include "runtime/keeper/testing/fake_peer.h"
#include "wire/hello_proof.h"

namespace cay::runtime {
namespace {

using testing::connected;
using testing::Ends;

constexpr Millis kSoon{5000};
constexpr Millis kNow{30};  // a limit that is meant to pass

class LinkTest : public ::testing::Test {
 protected:
  asio::io_context loop_;
  Ends ends_ = connected(loop_.get_executor());
  Event asked_{loop_.get_executor()};

  void TearDown() override { ends_.link->close(Error{Code::kCancelled, "test", "over", 0}); }

  void play(asio::awaitable<void> peer, asio::awaitable<void> ours) {
    testing::play(loop_, std::move(peer), std::move(ours));
  }
  asio::awaitable<void> greeted() {
    const wire::Hello hello;
    auto theirs = co_await ends_.link->greet(hello, kSoon);
    EXPECT_TRUE(theirs);
  }
  Task<wire::Frame> ask(Millis limit) {
    co_await greeted();
    auto channel = ends_.link->open();
    channel->send(wire::Type::kStats, std::string());
    const Deadline deadline = after(limit);
    auto got = co_await channel->next(deadline);
    co_return got;
  }
};

// A keeper over TCP must prove that it holds the key before it gets any request.
class KeyTest : public LinkTest {
 protected:
  // Greets with key_, while the peer proves itself by `peers_key`.
  Result<wire::Hello> greet(std::string peers_key) {
    Result<wire::Hello> got = Error{Code::kInternal, "test", "no result", 0};
    auto peer = [&]() -> asio::awaitable<void> {
      wire::Hello hello;
      hello.role = "keeper";
      hello.nonce = std::string(wire::kHelloNonce, 'n');
      co_await ends_.peer.write(wire::Type::kHello, 0, hello);
      const auto ours = co_await ends_.peer.read();
      const auto proof = co_await ends_.peer.read();
      EXPECT_EQ(proof.type, static_cast<std::uint16_t>(wire::Type::kProof));
      const std::string keeper = wire::encode(hello);
      const wire::Hellos both{keeper, ours.payload};
      const auto shown = wire::decode<wire::Proof>(proof.payload);
      EXPECT_TRUE(shown && wire::is_proved(key_, wire::Prover::kDaemon, both, shown->mac));
      const wire::Proof answer{wire::prove_hello(peers_key, wire::Prover::kKeeper, both)};
      co_await ends_.peer.write(wire::Type::kProof, 0, answer);
    };
    auto ours = [&]() -> asio::awaitable<void> {
      const wire::Hello hello;
      got = co_await ends_.link->greet(hello, kSoon, key_);
    };
    play(peer(), ours());
    return got;
  }
  const std::string key_ = std::string(wire::kHelloKey, 'k');
};

TEST_F(KeyTest, AKeeperThatHoldsItIsGreeted) {
  const auto got = greet(key_);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->role, "keeper");
}

TEST_F(KeyTest, AKeeperThatDoesNotIsRefused) {
  const auto got = greet(std::string(wire::kHelloKey, 'x'));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kConflict);
  EXPECT_EQ(got.error().reason, "peer_not_proved");
}

TEST_F(LinkTest, AnotherVersionIsRefusedWithBothNamed) {
  auto peer = [this]() -> asio::awaitable<void> {
    wire::Hello hello;
    hello.min_version = 7;
    hello.max_version = 9;
    co_await ends_.peer.write(wire::Type::kHello, 0, hello);
  };
  auto ours = [this]() -> asio::awaitable<void> {
    const wire::Hello hello;
    auto theirs = co_await ends_.link->greet(hello, kSoon);
    EXPECT_FALSE(theirs);
    EXPECT_EQ(theirs.error().code, Code::kUnsupported);
    EXPECT_NE(theirs.error().message.find("7 to 9"), std::string::npos) << theirs.error().message;
  };
  play(peer(), ours());
}

TEST_F(LinkTest, APeerThatDoesNotGreetIsGivenUp) {
  auto ours = [this]() -> asio::awaitable<void> {
    const wire::Hello hello;
    auto theirs = co_await ends_.link->greet(hello, kNow);
    EXPECT_FALSE(theirs);
    EXPECT_EQ(theirs.error().reason, "no_hello");
  };
  auto peer = []() -> asio::awaitable<void> { co_return; };
  play(peer(), ours());
}

TEST_F(LinkTest, AnythingBeforeTheHelloBreaksTheLink) {
  auto peer = [this]() -> asio::awaitable<void> {
    co_await ends_.peer.write(wire::Type::kOk, 1, std::string());
  };
  auto ours = [this]() -> asio::awaitable<void> {
    const wire::Hello hello;
    auto theirs = co_await ends_.link->greet(hello, kSoon);
    EXPECT_FALSE(theirs);
    EXPECT_EQ(theirs.error().reason, "protocol_error");
    EXPECT_TRUE(ends_.link->broke_protocol());
  };
  play(peer(), ours());
}

TEST_F(LinkTest, AnImpossibleLengthBreaksTheLinkAndAllThatWaits) {
  auto peer = [this]() -> asio::awaitable<void> {
    co_await ends_.peer.greet("keeper");
    co_await ends_.peer.write_raw("\xff\xff\xff\xff nonsense");
  };
  auto ours = [this]() -> asio::awaitable<void> {
    auto got = co_await ask(kSoon);
    EXPECT_FALSE(got);
    EXPECT_EQ(got.error().code, Code::kInternal);
    EXPECT_EQ(got.error().reason, "protocol_error");
    EXPECT_FALSE(ends_.link->alive());
  };
  play(peer(), ours());
}

TEST_F(LinkTest, MoreDataThanAllowedBreaksTheLink) {
  auto peer = [this]() -> asio::awaitable<void> {
    co_await ends_.peer.greet("keeper");
    auto request = co_await ends_.peer.read();
    co_await ends_.peer.write_data(request.channel, 1, 0, "not asked for");
  };
  auto ours = [this]() -> asio::awaitable<void> {
    auto got = co_await ask(kSoon);
    EXPECT_FALSE(got);
    EXPECT_EQ(got.error().reason, "protocol_error");
  };
  play(peer(), ours());
}

TEST_F(LinkTest, AnAnswerThatFloodsEndsItsChannelAlone) {
  auto peer = [this]() -> asio::awaitable<void> {
    co_await ends_.peer.greet("keeper");
    auto flooded = co_await ends_.peer.read();
    for (int i = 0; i < 40; ++i) {
      co_await ends_.peer.write(wire::Type::kFileInfo, flooded.channel, std::string(200'000, 'x'));
    }
    auto cancelled = co_await ends_.peer.read();
    EXPECT_EQ(cancelled.type, static_cast<std::uint16_t>(wire::Type::kCancel));
    EXPECT_EQ(cancelled.channel, flooded.channel);
    asked_.set();
    auto second = co_await ends_.peer.read();
    co_await ends_.peer.write(wire::Type::kOk, second.channel, std::string());
  };
  auto ours = [this]() -> asio::awaitable<void> {
    co_await greeted();
    auto lazy = ends_.link->open();
    lazy->send(wire::Type::kFileOp, std::string());
    co_await asked_.wait();  // nothing is taken meanwhile
    const Deadline deadline = after(kSoon);
    auto came = co_await lazy->next(deadline);
    EXPECT_FALSE(came);
    EXPECT_EQ(came.error().reason, "answer_too_fast");
    EXPECT_TRUE(ends_.link->alive());
    auto other = ends_.link->open();
    other->send(wire::Type::kStats, std::string());
    auto fine = co_await other->next(deadline);
    EXPECT_TRUE(fine);
    other->finish();
  };
  play(peer(), ours());
}

TEST_F(LinkTest, ASilentPeerIsAnErrorAtTheDeadlineAndIsTold) {
  auto peer = [this]() -> asio::awaitable<void> {
    co_await ends_.peer.greet("keeper");
    auto request = co_await ends_.peer.read();
    auto cancel = co_await ends_.peer.read();
    EXPECT_EQ(cancel.type, static_cast<std::uint16_t>(wire::Type::kCancel));
    EXPECT_EQ(cancel.channel, request.channel);
  };
  auto ours = [this]() -> asio::awaitable<void> {
    auto got = co_await ask(kNow);
    EXPECT_FALSE(got);
    EXPECT_EQ(got.error().code, Code::kUnavailable);
    EXPECT_EQ(got.error().reason, "no_answer");
  };
  play(peer(), ours());
}

TEST_F(LinkTest, CancellingTheCallerTellsThePeer) {
  auto peer = [this]() -> asio::awaitable<void> {
    co_await ends_.peer.greet("keeper");
    auto request = co_await ends_.peer.read();
    asked_.set();
    auto cancel = co_await ends_.peer.read();
    EXPECT_EQ(cancel.type, static_cast<std::uint16_t>(wire::Type::kCancel));
  };
  auto ours = [this]() -> asio::awaitable<void> {
    Scope scope(loop_.get_executor());
    auto forever = [this]() -> asio::awaitable<void> {
      auto got = co_await ask(kSoon * 100);
      ADD_FAILURE() << "went on after its cancellation";
    };
    scope.spawn(forever());
    co_await asked_.wait();
    scope.cancel();
    co_await scope.join();
  };
  play(peer(), ours());
}

TEST_F(LinkTest, ErrorsArriveAsTheyWereSent) {
  auto peer = [this]() -> asio::awaitable<void> {
    co_await ends_.peer.greet("keeper");
    auto request = co_await ends_.peer.read();
    const wire::ErrorMsg error{.code = static_cast<std::uint32_t>(Code::kNotFound),
                               .reason = "file_not_found",
                               .message = "no /x",
                               .os_errno = 2};
    co_await ends_.peer.write(wire::Type::kError, request.channel, error);
    auto second = co_await ends_.peer.read();
    const wire::ErrorMsg odd{.code = 4711, .reason = "future", .message = "?", .os_errno = 0};
    co_await ends_.peer.write(wire::Type::kError, second.channel, odd);
  };
  auto ours = [this]() -> asio::awaitable<void> {
    auto got = co_await ask(kSoon);
    EXPECT_FALSE(got);
    EXPECT_EQ(got.error().code, Code::kNotFound);
    EXPECT_EQ(got.error().reason, "file_not_found");
    EXPECT_EQ(got.error().os_errno, 2);
    auto channel = ends_.link->open();
    channel->send(wire::Type::kStats, std::string());
    const Deadline deadline = after(kSoon);
    auto odd = co_await channel->next(deadline);
    EXPECT_FALSE(odd);
    EXPECT_EQ(odd.error().code, Code::kInternal);
  };
  play(peer(), ours());
}

TEST_F(LinkTest, WhatCameBeforeTheLossIsStillGiven) {
  auto peer = [this]() -> asio::awaitable<void> {
    co_await ends_.peer.greet("keeper");
    auto request = co_await ends_.peer.read();
    co_await ends_.peer.write(wire::Type::kOk, request.channel, std::string());
    ends_.peer.close();
  };
  auto ours = [this]() -> asio::awaitable<void> {
    co_await greeted();
    auto channel = ends_.link->open();
    channel->send(wire::Type::kStats, std::string());
    co_await ends_.link->closed();
    const Deadline deadline = after(kSoon);
    auto first = co_await channel->next(deadline);
    EXPECT_TRUE(first);
    auto second = co_await channel->next(deadline);
    EXPECT_FALSE(second);
    EXPECT_EQ(second.error().reason, "link_lost");
  };
  play(peer(), ours());
}

TEST_F(LinkTest, APeerThatDoesNotReadHoldsSendersBack) {
  auto peer = [this]() -> asio::awaitable<void> { co_await ends_.peer.greet("keeper"); };
  auto ours = [this]() -> asio::awaitable<void> {
    co_await greeted();
    auto channel = ends_.link->open();
    std::size_t sent = 0;
    Result<void> room;
    while (room && sent < (64u << 20)) {
      channel->send(wire::Type::kData, std::string(wire::kDataChunk, 'x'));
      sent += wire::kDataChunk;
      room = co_await channel->room(kNow);
    }
    EXPECT_FALSE(room);
    EXPECT_EQ(room.error().reason, "keeper_stalled");
    EXPECT_LT(sent, 4u << 20);
  };
  play(peer(), ours());
}

}  // namespace
}  // namespace cay::runtime
