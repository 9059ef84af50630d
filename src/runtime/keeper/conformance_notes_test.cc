// Starts and ends of commands as notes, through a real keeper: all of them, in order, over cut
// links.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "runtime/keeper/testing/conformance.h"

namespace cay::runtime::testing {
namespace {

using Told = std::vector<std::pair<NoteMark, Command>>;

class NotesTest : public ConformanceTest {
 protected:
  void listen() {
    core::LiveSandbox::CommandHandlers handlers;
    handlers.ended = [](const Command&) { ADD_FAILURE() << "a hint beside the notes"; };
    handlers.note = [this](NoteMark mark, const Command& command) {
      told_.emplace_back(mark, command);
    };
    box_->on_commands(std::move(handlers));
  }
  // Until so many different notes came.
  asio::awaitable<void> wait_for(std::uint64_t number) {
    asio::steady_timer timer(loop_);
    for (int i = 0; i < 2000 && (told_.empty() || told_.back().first.number < number); ++i) {
      timer.expires_after(std::chrono::milliseconds(5));
      co_await timer.async_wait(asio::use_awaitable);
    }
  }
  Told told_;
};
INSTANTIATE_TEST_SUITE_P(Over, NotesTest,
                         ::testing::Values(keeper::testing::Transport::kUnix,
                                           keeper::testing::Transport::kTcp),
                         transport_name);

TEST_P(NotesTest, ComeBeforeTheAnswerAlsoIfNobodyListenedYet) {
  play([this]() -> asio::awaitable<void> {
    auto started = co_await box_->start(shell("a", "exit 3"));
    EXPECT_TRUE(started && box_->keeps_notes());
    EXPECT_TRUE(told_.empty());
    listen();
    EXPECT_EQ(told_.empty() ? CommandState::kLost : told_.front().second.end.state,
              CommandState::kRunning);
    co_await wait_for(2);
    EXPECT_EQ(told_.size(), 2U);
    EXPECT_EQ(told_.back().second.end.exit_code, 3);
  });
}

TEST_P(NotesTest, OverCutLinksNoneIsMissing) {
  Cutter cutter(keeper_, 13, 10, 12'000);
  connect(cutter.dialer());
  listen();
  play([this]() -> asio::awaitable<void> {
    for (int i = 0; i < 40; ++i) {
      auto started =
          co_await box_->start(shell("c" + std::to_string(i), "exit " + std::to_string(i)));
      EXPECT_TRUE(started) << i << ": " << (started ? "" : started.error().message);
      // As a daemon does. A connection that is cut again and again would repeat only earlier notes.
      if (i % 4 == 3) {
        auto noted = co_await box_->noted(told_.back().first);
        static_cast<void>(noted);
      }
    }
    co_await wait_for(80);
  });
  EXPECT_LT(cutter.cuts_left(), 8) << "it was hardly cut";
  std::map<std::uint64_t, Command> by_number;
  std::uint64_t known = 0;
  for (const auto& [mark, command] : told_) {
    EXPECT_EQ(mark.life, told_.front().first.life);
    // A repetition after a cut stops short where the acknowledgement of what follows arrives
    // meanwhile.
    EXPECT_LE(mark.number, known + 1) << "one was left out";
    known = std::max(known, mark.number);
    const auto [at, fresh] = by_number.try_emplace(mark.number, command);
    EXPECT_EQ(at->second.id, command.id) << "another one under the same number";
  }
  EXPECT_EQ(by_number.size(), 80U);
  std::map<CommandId, CommandState> now;
  for (const auto& [number, command] : by_number) {
    const bool starts = command.end.state == CommandState::kRunning;
    EXPECT_EQ(now.contains(command.id), !starts) << number;
    now[command.id] = command.end.state;
    if (!starts) EXPECT_EQ("c" + std::to_string(command.end.exit_code), command.id.get());
  }
}

TEST_P(NotesTest, WhatIsOnRecordIsNotToldToTheNextDaemon) {
  listen();
  play([this]() -> asio::awaitable<void> {
    auto started = co_await box_->start(shell("a", "true"));
    EXPECT_TRUE(started);
    co_await wait_for(2);
    auto noted = co_await box_->noted(told_.front().first);
    EXPECT_TRUE(noted);
  });
  told_.clear();
  connect(straight(keeper_));
  listen();
  play([this]() -> asio::awaitable<void> {
    co_await wait_for(2);
    EXPECT_EQ(told_.size(), 1U);
    EXPECT_EQ(told_.empty() ? 0U : told_.front().first.number, 2U);
    auto noted = co_await box_->noted(told_.back().first);
    EXPECT_TRUE(noted);
  });
}

}  // namespace
}  // namespace cay::runtime::testing
