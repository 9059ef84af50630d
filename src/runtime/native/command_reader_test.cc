// LiveReader against scripted keepers: what they get wrong is never delivered as output.
#include "runtime/keeper/command_reader.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>

#include "async/testing.h"
#include "base/testing/temp_dir.h"
#include "runtime/keeper/keeper_sandbox.h"
#include "runtime/keeper/testing/fake_peer.h"
#include "runtime/native/spool_reader.h"
#include "runtime/native/unix_dialer.h"
#include "wire/spool_record.h"

namespace cay::runtime {
namespace {

using cay::testing::TempDir;
using testing::FakeHost;
using testing::FakePeer;

class ReaderTest : public ::testing::Test {
 protected:
  asio::io_context loop_;
  const TempDir temp_;
  std::unique_ptr<FakeHost> host_ =
      std::make_unique<FakeHost>(loop_.get_executor(), temp_.path() + "/k.sock");
  std::shared_ptr<PersistentLink> line_;
  std::vector<std::string> deaths_;

  void SetUp() override {
    wire::Hello hello;
    line_ = keeper_line(loop_.get_executor(), {unix_dialer(host_->path())}, hello);
    line_->on_death([this](std::string reason) { deaths_.push_back(reason); });
    line_->start();
  }
  void TearDown() override {
    line_->close(Error{Code::kCancelled, "test", "over", 0});
    loop_.restart();
    loop_.poll();
  }

  void play(asio::awaitable<void> keeper, asio::awaitable<void> ours) {
    testing::play(loop_, std::move(keeper), std::move(ours));
  }

  static wire::CommandMsg message(wire::ExtentMsg out = {}) {
    wire::CommandMsg command;
    command.command_id = "c1";
    command.state = out.bytes > 0 ? 2 : 1;
    command.out = out;
    return command;
  }
  // Greets, and answers the attach with the command; returns its channel and offset.
  static asio::awaitable<wire::Frame> attached(FakePeer& peer) {
    co_await peer.greet("keeper");
    auto request = co_await peer.read();
    EXPECT_EQ(request.type, static_cast<std::uint16_t>(wire::Type::kAttach));
    co_await peer.write(wire::Type::kCommand, request.channel, message());
    co_return request;
  }
};

TEST_F(ReaderTest, ReattachesAtTheExactOffsetAfterACut) {
  auto keeper = [this]() -> asio::awaitable<void> {
    {
      auto peer = co_await host_->accept();
      auto request = co_await attached(peer);
      co_await peer.write_data(request.channel, 1, 0, "hello ");
      peer.close();
    }
    auto peer = co_await host_->accept();
    auto request = co_await attached(peer);
    const auto attach = wire::decode<wire::Attach>(request.payload);
    EXPECT_EQ(attach->out_offset, 6u);
    EXPECT_EQ(attach->credit, LiveReader::kWindow);
    co_await peer.write_data(request.channel, 1, 6, "world");
    const wire::ExtentMsg extent{.bytes = 11, .end_offset = 11, .gap_begin = 0, .gap_end = 0};
    co_await peer.write(wire::Type::kEnd, request.channel, message(extent));
  };
  auto ours = [this]() -> asio::awaitable<void> {
    LiveReader reader(line_, CommandId("c1"), {});
    auto opened = co_await reader.open();
    EXPECT_TRUE(opened);
    std::string all;
    while (true) {
      auto event = co_await reader.next();
      EXPECT_TRUE(event);
      if (!event) break;
      if (std::holds_alternative<core::OutputEnd>(*event)) break;
      const auto& data = std::get<core::OutputData>(*event);
      EXPECT_EQ(data.offset, all.size());
      all += data.bytes;
    }
    EXPECT_EQ(all, "hello world");
    auto more = co_await reader.next();
    EXPECT_FALSE(more);
  };
  play(keeper(), ours());
}

TEST_F(ReaderTest, RepeatedBytesAreNotDelivered) {
  auto keeper = [this]() -> asio::awaitable<void> {
    auto peer = co_await host_->accept();
    auto request = co_await attached(peer);
    co_await peer.write_data(request.channel, 1, 0, "abc");
    co_await peer.write_data(request.channel, 1, 2, "cd");
  };
  auto ours = [this]() -> asio::awaitable<void> {
    LiveReader reader(line_, CommandId("c1"), {});
    auto opened = co_await reader.open();
    EXPECT_TRUE(opened);
    auto first = co_await reader.next();
    EXPECT_TRUE(first);
    auto second = co_await reader.next();
    EXPECT_FALSE(second);
    EXPECT_EQ(second.error().code, Code::kInternal);
    EXPECT_EQ(second.error().reason, "protocol_error");
  };
  play(keeper(), ours());
}

TEST_F(ReaderTest, AnEndBeforeTheOutputIsRefused) {
  auto keeper = [this]() -> asio::awaitable<void> {
    auto peer = co_await host_->accept();
    auto request = co_await attached(peer);
    const wire::ExtentMsg extent{.bytes = 5, .end_offset = 5, .gap_begin = 0, .gap_end = 0};
    co_await peer.write(wire::Type::kEnd, request.channel, message(extent));
  };
  auto ours = [this]() -> asio::awaitable<void> {
    LiveReader reader(line_, CommandId("c1"), {});
    auto opened = co_await reader.open();
    EXPECT_TRUE(opened);
    auto end = co_await reader.next();
    EXPECT_FALSE(end);
    EXPECT_EQ(end.error().reason, "protocol_error");
  };
  play(keeper(), ours());
}

TEST_F(ReaderTest, AGapMovesTheOffsetAndIsTold) {
  auto keeper = [this]() -> asio::awaitable<void> {
    auto peer = co_await host_->accept();
    auto request = co_await attached(peer);
    const wire::GapMsg gap{.stream = 1, .offset = 0, .length = 1000};
    co_await peer.write(wire::Type::kGap, request.channel, gap);
    co_await peer.write_data(request.channel, 1, 1000, "tail");
  };
  auto ours = [this]() -> asio::awaitable<void> {
    LiveReader reader(line_, CommandId("c1"), {});
    auto opened = co_await reader.open();
    EXPECT_TRUE(opened);
    auto gap = co_await reader.next();
    EXPECT_TRUE(gap && std::holds_alternative<core::OutputGap>(*gap));
    auto tail = co_await reader.next();
    EXPECT_TRUE(tail && std::get<core::OutputData>(*tail).offset == 1000);
  };
  play(keeper(), ours());
}

TEST_F(ReaderTest, ADeadKeeperIsLostWithItsReasonAndToldOnce) {
  auto keeper = [this]() -> asio::awaitable<void> {
    auto peer = co_await host_->accept();
    auto request = co_await attached(peer);
    host_.reset();  // nobody listens any more
    peer.close();
  };
  auto ours = [this]() -> asio::awaitable<void> {
    LiveReader reader(line_, CommandId("c1"), {});
    auto opened = co_await reader.open();
    EXPECT_TRUE(opened);
    auto lost = co_await reader.next();
    EXPECT_FALSE(lost);
    EXPECT_EQ(lost.error().code, Code::kLost);
    EXPECT_EQ(lost.error().reason, "keeper_lost");
    EXPECT_EQ(deaths_, std::vector<std::string>{"keeper lost"});
  };
  play(keeper(), ours());
}

// A reader that had "he" of "hello" when its sandbox ended, whose spool has all of it.
class EndedTest : public ReaderTest {
 protected:
  static constexpr const char* kSandbox = "0a8f7a3e-6d5c-4b2a-9f10-1a2b3c4d5e6f";
  enum class Spool { kEnded, kOpen, kNone };

  void keep(Spool what) {
    if (what == Spool::kNone) return;
    const auto directory = std::filesystem::path(temp_.path()) / kSandbox / "c1";
    std::filesystem::create_directories(directory);
    wire::CommandMsg record = message({.bytes = 5, .end_offset = 5, .gap_begin = 0, .gap_end = 0});
    record.state = what == Spool::kOpen ? 1 : 7;
    record.signal = 9;
    record.by = "sandbox stop";
    std::ofstream(directory / "record") << wire::kRecordHead << wire::record_frame(record);
    std::ofstream(directory / "out") << "hello";
    std::ofstream(directory / "err").flush();
  }

  // The rest that it read, and the command's end.
  struct Told {
    std::string text;
    std::uint64_t missing = 0;
    std::optional<CommandEnd> end;
    std::optional<Error> error;
  };
  Told told(Spool spool, bool removal, bool let_go = false) {
    Told out;
    auto keeper = [this]() -> asio::awaitable<void> {
      auto peer = co_await host_->accept();
      auto request = co_await attached(peer);
      co_await peer.write_data(request.channel, 1, 0, "he");
      try {
        co_await peer.read();  // holds the connection
      } catch (const boost::system::system_error&) {
        // The reader's side closed it.
      }
    };
    auto ours = [&]() -> asio::awaitable<void> {
      auto readers = std::make_shared<OpenReaders>(loop_.get_executor());
      LiveReader reader(line_, CommandId("c1"), {}, readers);
      auto opened = co_await reader.open();
      EXPECT_TRUE(opened);
      auto first = co_await reader.next();
      EXPECT_TRUE(first);
      keep(spool);
      if (removal) readers->expect_removal();
      readers->go_on_from(spooled_commands(temp_.path(), SandboxId(kSandbox), ""));
      line_->close(Error{Code::kNotFound, "sandbox_not_found", "gone", 0});
      if (let_go) readers->let_go();
      EXPECT_FALSE(readers->empty());
      while (!out.end && !out.error) {
        auto event = co_await reader.next();
        if (!event) {
          out.error = event.error();
        } else if (const auto* data = std::get_if<core::OutputData>(&*event)) {
          EXPECT_EQ(data->offset, 2 + out.text.size());
          out.text += data->bytes;
        } else if (const auto* gap = std::get_if<core::OutputGap>(&*event)) {
          out.missing += gap->length;
        } else {
          out.end = std::get<core::OutputEnd>(*event).command.end;
        }
      }
      const bool done = co_await readers->done(Millis{0});
      EXPECT_EQ(done, out.end.has_value()) << "who was told the end is waited for no more";
    };
    play(keeper(), ours());
    return out;
  }
};

TEST_F(EndedTest, GoesOnFromTheSpoolToTheEndThatIsOnRecord) {
  const Told stopped = told(Spool::kEnded, false);
  EXPECT_EQ(stopped.text, "llo");
  ASSERT_TRUE(stopped.end);
  EXPECT_EQ(stopped.end->state, CommandState::kKilled);
  EXPECT_EQ(stopped.end->by, "sandbox stop");
}

TEST_F(EndedTest, ARemovalIsWhatKilledIt) {
  const Told removed = told(Spool::kEnded, true);
  EXPECT_EQ(removed.text, "llo");
  ASSERT_TRUE(removed.end);
  EXPECT_EQ(removed.end->by, "sandbox removal");
}

TEST_F(EndedTest, OneWhoseEndIsNotOnRecordIsKilledByTheRemoval) {
  const Told removed = told(Spool::kOpen, true);
  ASSERT_TRUE(removed.end);
  EXPECT_EQ(removed.end->state, CommandState::kKilled);
  EXPECT_EQ(removed.end->signal, SIGKILL);
  EXPECT_EQ(removed.end->by, "sandbox removal");
}

TEST_F(EndedTest, OneThatAStopLeftWithoutAnEndIsLost) {
  const Told stopped = told(Spool::kOpen, false);
  ASSERT_TRUE(stopped.end);
  EXPECT_EQ(stopped.end->state, CommandState::kLost);
}

TEST_F(EndedTest, WhatIsNotReadBeforeTheSpoolGoesIsAGap) {
  const Told late = told(Spool::kEnded, true, true);
  EXPECT_EQ(late.text, "");
  EXPECT_EQ(late.missing, 3u);
  ASSERT_TRUE(late.end);
  EXPECT_EQ(late.end->by, "sandbox removal");
}

TEST_F(EndedTest, WithoutASpoolItEndsWithTheConnection) {
  const Told none = told(Spool::kNone, true);
  ASSERT_TRUE(none.error);
  EXPECT_EQ(none.error->reason, "sandbox_not_found");
}

TEST_F(ReaderTest, AKeeperThatKeepsBreakingTheProtocolIsGivenUp) {
  auto keeper = [this]() -> asio::awaitable<void> {
    for (int i = 0; i < 3; ++i) {
      auto peer = co_await host_->accept();
      co_await peer.greet("keeper");
      co_await peer.write_raw("\xff\xff\xff\xff");
      auto closed = [](FakePeer& from) -> asio::awaitable<void> {
        try {
          while (true) {
            auto frame = co_await from.read();
            static_cast<void>(frame);
          }
        } catch (const boost::system::system_error&) {
        }
      };
      co_await closed(peer);
    }
  };
  auto ours = [this]() -> asio::awaitable<void> {
    Event never(loop_.get_executor());
    const Deadline deadline = after(Millis{10'000});
    while (deaths_.empty() && !passed(deadline)) {
      auto woken = co_await never.wait_for(Millis{2});
      static_cast<void>(woken);
    }
    EXPECT_EQ(deaths_.size(), 1u);
    auto link = co_await line_->link(Millis{1000});
    EXPECT_FALSE(link);
    EXPECT_EQ(link.error().code, Code::kLost);
  };
  play(keeper(), ours());
}

TEST_F(ReaderTest, AStrangerOnTheSocketIsNotOurKeeper) {
  line_->close(Error{Code::kCancelled, "test", "over", 0});
  wire::Hello hello;
  auto mine = keeper_line(loop_.get_executor(), {unix_dialer(host_->path()), "expected"}, hello);
  mine->start();
  auto keeper = [this]() -> asio::awaitable<void> {
    auto peer = co_await host_->accept();
    co_await peer.greet("keeper", "another");
  };
  auto ours = [&]() -> asio::awaitable<void> {
    auto link = co_await mine->link(Millis{5000});
    EXPECT_FALSE(link);
    EXPECT_EQ(link.error().reason, "wrong_keeper");
  };
  play(keeper(), ours());
}

TEST_F(ReaderTest, ARequestTooLargeForAFrameIsTheCallersError) {
  auto keeper = [this]() -> asio::awaitable<void> {
    auto peer = co_await host_->accept();
    co_await peer.greet("keeper");
  };
  auto ours = [this]() -> asio::awaitable<void> {
    KeeperSandbox box(line_);
    CommandSpec spec;
    spec.id = CommandId("big");
    spec.argv = {"echo", std::string(3'000'000, 'x')};
    auto started = co_await box.start(std::move(spec));
    EXPECT_FALSE(started);
    EXPECT_EQ(started.error().code, Code::kInvalidArgument);
    EXPECT_EQ(started.error().reason, "request_too_large");
  };
  play(keeper(), ours());
}

}  // namespace
}  // namespace cay::runtime
