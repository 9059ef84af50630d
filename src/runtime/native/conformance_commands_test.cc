// Commands through a real keeper, over UNIX and TCP: the same truth over both, and over cut links.
#include <gtest/gtest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include <filesystem>
#include <fstream>

#include "async/scope.h"
#include "base/testing/temp_dir.h"
#include "runtime/native/spool_reader.h"
#include "runtime/keeper/testing/conformance.h"

namespace cay::runtime::testing {
namespace {

using keeper::testing::Transport;

class CommandsTest : public ConformanceTest {};
INSTANTIATE_TEST_SUITE_P(Over, CommandsTest, ::testing::Values(Transport::kUnix, Transport::kTcp),
                         transport_name);

TEST_P(CommandsTest, RunsAndTellsCodeAndBothStreams) {
  play([this]() -> asio::awaitable<void> {
    auto seen = co_await run_command(shell("a", "echo out; echo err >&2; exit 7"));
    EXPECT_TRUE(seen);
    if (!seen) co_return;
    EXPECT_EQ(seen->out, "out\n");
    EXPECT_EQ(seen->err, "err\n");
    EXPECT_TRUE(seen->end);
    if (!seen->end) co_return;
    EXPECT_EQ(seen->end->end.state, CommandState::kExited);
    EXPECT_EQ(seen->end->end.exit_code, 7);
    EXPECT_EQ(seen->end->end.witness, "outside");
  });
}

TEST_P(CommandsTest, OneRequestStartsAndFollows) {
  play([this]() -> asio::awaitable<void> {
    auto followed = co_await box_->start_attached(shell("a", "echo out; echo err >&2; exit 7"));
    EXPECT_TRUE(followed) << followed.error().message;
    if (!followed) co_return;
    EXPECT_FALSE(followed->command.known);
    EXPECT_TRUE(followed->reader);
    const Seen seen = co_await drain(**followed->reader);
    EXPECT_EQ(seen.out, "out\n");
    EXPECT_EQ(seen.err, "err\n");
    EXPECT_TRUE(seen.end && seen.end->end.exit_code == 7);
    // The same id again is the same command, read from its first byte.
    auto again = co_await box_->start_attached(shell("a", "echo out; echo err >&2; exit 7"));
    EXPECT_TRUE(again && again->command.known && again->reader);
    if (!again || !again->reader) co_return;
    const Seen twice = co_await drain(**again->reader);
    EXPECT_EQ(twice.out, "out\n");
    EXPECT_EQ(twice.end->pid, seen.end->pid);
    auto other = co_await box_->start_attached(shell("a", "echo other"));
    EXPECT_FALSE(other);
    if (!other) EXPECT_EQ(other.error().reason, "command_id_in_use");
    auto missing = shell("b", "true");
    missing.argv = {"no-such-program-here"};
    auto failed = co_await box_->start_attached(std::move(missing));
    EXPECT_FALSE(failed);
    if (!failed) EXPECT_EQ(failed.error().reason, "command_not_found");
  });
}

TEST_P(CommandsTest, OneRequestWritesAndFollows) {
  play([this]() -> asio::awaitable<void> {
    const core::OutputOffsets begin;
    auto unknown = co_await box_->write_attached(CommandId("none"), "x\n", begin);
    EXPECT_FALSE(unknown);
    if (!unknown) EXPECT_EQ(unknown.error().code, Code::kNotFound);
    auto started = co_await box_->start(shell("a", "read a; echo $a; read b; echo $b; read c"));
    EXPECT_TRUE(started);
    std::uint64_t from = 0;
    for (const std::string word : {"one", "two"}) {
      auto line = word + "\n";
      const core::OutputOffsets at{.out = from};
      auto both = co_await box_->write_attached(CommandId("a"), std::move(line), at);
      EXPECT_TRUE(both && both->written && both->reader) << word;
      if (!both || !both->reader) co_return;
      std::string seen;
      while (!seen.ends_with('\n')) {
        auto event = co_await both->reader->next();
        const auto* data = event ? std::get_if<core::OutputData>(&*event) : nullptr;
        EXPECT_NE(data, nullptr);
        if (data == nullptr) co_return;
        seen += data->bytes;
      }
      EXPECT_EQ(seen, word + "\n");
      from += seen.size();
      both->reader->detach_with_next();
      auto over = co_await both->reader->next();
      EXPECT_FALSE(over) << "it reads no more";
    }
    std::string last = std::string(100'000, 'x') + "\n";  // more than one request
    auto both = co_await box_->write_attached(CommandId("a"), std::move(last), begin);
    EXPECT_TRUE(both && both->written && both->reader);
    if (!both || !both->reader) co_return;
    const Seen all = co_await drain(*both->reader);
    EXPECT_EQ(all.out, "one\ntwo\n");
    EXPECT_TRUE(all.end);
    auto late = co_await box_->write_attached(CommandId("a"), "late\n", begin);
    EXPECT_TRUE(late && !late->written && late->reader);
    if (!late || late->written) co_return;
    EXPECT_EQ(late->written.error().reason, "stdin_closed");
    const Seen again = co_await drain(*late->reader);
    EXPECT_EQ(again.out, "one\ntwo\n");
  });
}

TEST_P(CommandsTest, WhatTheDaemonKeepsWithACommandIsToldAgain) {
  play([this]() -> asio::awaitable<void> {
    const std::vector<std::pair<std::string, std::string>> kept{
        {"a word", "a trace"}, {"", "a trace"}, {"a word", ""}, {"", ""}};
    for (std::size_t i = 0; i < kept.size(); ++i) {
      auto spec = shell("kept-" + std::to_string(i), "true");
      spec.mark = kept[i].first;
      spec.trace = kept[i].second;
      auto started = co_await box_->start(std::move(spec));
      EXPECT_TRUE(started);
      if (!started) co_return;
      auto again = co_await box_->command(started->id);
      EXPECT_TRUE(again);
      if (!again) co_return;
      EXPECT_EQ(again->mark, kept[i].first);
      EXPECT_EQ(again->trace, kept[i].second);
    }
  });
}

TEST_P(CommandsTest, SignalsAndTimeoutsAreTold) {
  play([this]() -> asio::awaitable<void> {
    auto seen = co_await run_command(shell("a", "kill -9 $$"));
    EXPECT_TRUE(seen && seen->end);
    if (seen && seen->end) {
      EXPECT_EQ(seen->end->end.state, CommandState::kSignalled);
      EXPECT_EQ(seen->end->end.signal, SIGKILL);
    }
    auto slow = shell("b", "sleep 60");
    slow.timeout_ms = 100;
    auto timed = co_await run_command(std::move(slow));
    EXPECT_TRUE(timed && timed->end);
    if (timed && timed->end) EXPECT_EQ(timed->end->end.state, CommandState::kTimedOut);
  });
}

TEST_P(CommandsTest, WhatCannotStartIsTheCallersError) {
  play([this]() -> asio::awaitable<void> {
    auto spec = shell("a", "true");
    spec.argv = {"no-such-program-here"};
    auto missing = co_await box_->start(std::move(spec));
    EXPECT_FALSE(missing);
    EXPECT_EQ(missing.error().code, Code::kInvalidArgument) << missing.error().message;
    auto lost = shell("b", "true");
    lost.run.workdir = "/no/such/directory";
    auto nowhere = co_await box_->start(std::move(lost));
    EXPECT_FALSE(nowhere);
    EXPECT_EQ(nowhere.error().reason, "bad_cwd");
    CommandId unknown("nope");
    auto none = co_await box_->attach(std::move(unknown), {});
    EXPECT_FALSE(none);
    EXPECT_EQ(none.error().code, Code::kNotFound);
  });
}

TEST_P(CommandsTest, TheSameIdIsTheSameCommandAndAnotherRequestAConflict) {
  play([this]() -> asio::awaitable<void> {
    auto first = co_await box_->start(shell("a", "echo once"));
    EXPECT_TRUE(first && !first->known);
    auto again = co_await box_->start(shell("a", "echo once"));
    EXPECT_TRUE(again && again->known);
    auto other = co_await box_->start(shell("a", "echo twice"));
    EXPECT_FALSE(other);
    EXPECT_EQ(other.error().code, Code::kConflict);
    auto lax = shell("a", "echo twice");
    lax.ignore_mismatch = true;
    auto attached = co_await box_->start(std::move(lax));
    EXPECT_TRUE(attached && attached->known);
  });
}

TEST_P(CommandsTest, StdinArrivesWholeAndEnds) {
  play([this]() -> asio::awaitable<void> {
    std::string text(3 << 20, 'x');
    for (std::size_t i = 0; i < text.size(); i += 97) text[i] = static_cast<char>('a' + i % 26);
    auto started = co_await box_->start(shell("a", "cat"));
    EXPECT_TRUE(started);
    auto feed = [this, text]() -> asio::awaitable<void> {
      CommandId id("a");
      auto written = co_await box_->write_stdin(id, text, false);
      EXPECT_TRUE(written);
      auto closed = co_await box_->close_stdin(id);
      EXPECT_TRUE(closed);
    };
    Scope scope(loop_.get_executor());
    scope.spawn(feed());
    CommandId id("a");
    auto reader = co_await box_->attach(id, {});
    EXPECT_TRUE(reader);
    if (!reader) co_return;
    auto seen = co_await drain(**reader);
    co_await scope.join();
    EXPECT_TRUE(seen.out == text);
    auto late = co_await box_->write_stdin(id, "late", false);
    EXPECT_FALSE(late);
    EXPECT_EQ(late.error().code, Code::kNotReady);
  });
}

TEST_P(CommandsTest, KillEndsTheTreeAndNamesWho) {
  play([this]() -> asio::awaitable<void> {
    CommandId id("a");
    auto started = co_await box_->start(shell("a", "echo up; sleep 60 & wait"));
    EXPECT_TRUE(started);
    auto reader = co_await box_->attach(id, {});
    EXPECT_TRUE(reader);
    if (!reader) co_return;
    auto up = co_await (*reader)->next();
    EXPECT_TRUE(up);
    auto killed = co_await box_->kill(id, 0, "client");
    EXPECT_TRUE(killed);
    auto end = co_await (*reader)->next();
    EXPECT_TRUE(end && std::holds_alternative<core::OutputEnd>(*end));
    if (!end) co_return;
    const CommandEnd& how = std::get<core::OutputEnd>(*end).command.end;
    EXPECT_EQ(how.state, CommandState::kKilled);
    EXPECT_EQ(how.by, "client");
  });
}

TEST_P(CommandsTest, ListsStatsAndForgets) {
  play([this]() -> asio::awaitable<void> {
    for (int i = 0; i < 5; ++i) {
      auto seen = co_await run_command(shell("c" + std::to_string(i), "true"));
      EXPECT_TRUE(seen && seen->end);
    }
    auto all = co_await box_->commands();
    EXPECT_TRUE(all);
    if (all) EXPECT_EQ(all->size(), 5u);
    CommandId id("c3");
    auto forgotten = co_await box_->forget(id);
    EXPECT_TRUE(forgotten);
    auto gone = co_await box_->command(id);
    EXPECT_FALSE(gone);
    EXPECT_EQ(gone.error().code, Code::kNotFound);
    auto stats = co_await box_->stats();
    EXPECT_TRUE(stats);
    if (stats) EXPECT_EQ(stats->running_commands, 0u);
  });
}

std::string numbers(int last) {
  std::string all;
  for (int i = 1; i <= last; ++i) all += std::to_string(i) + "\n";
  return all;
}

TEST_P(CommandsTest, OutputIsIdenticalThroughFortyCuts) {
  box_.reset();
  Cutter cutter(keeper_, 7, 40, 150'000);
  connect(cutter.dialer());
  play([&, this]() -> asio::awaitable<void> {
    auto seen = co_await run_command(shell("a", "seq 1 900000; seq 1 1000 >&2; exit 3"));
    EXPECT_TRUE(seen);
    if (!seen) co_return;
    EXPECT_FALSE(seen->error) << seen->error->message;
    EXPECT_TRUE(seen->out == numbers(900'000));
    EXPECT_TRUE(seen->err == numbers(1000));
    EXPECT_TRUE(seen->end && seen->end->end.exit_code == 3);
  });
  EXPECT_EQ(cutter.cuts_left(), 0);
}

TEST_P(CommandsTest, ManySmallCutsHurtNoCall) {
  box_.reset();
  Cutter cutter(keeper_, 11, 25, 2500);
  connect(cutter.dialer());
  play([&, this]() -> asio::awaitable<void> {
    for (int i = 0; i < 12; ++i) {
      auto seen = co_await run_command(
          shell("c" + std::to_string(i), "echo one >> " + path("ran") + "; echo hi"));
      EXPECT_TRUE(seen) << seen.error().message;
      if (!seen) co_return;
      EXPECT_EQ(seen->out, "hi\n");
      EXPECT_TRUE(seen->end && seen->end->end.exit_code == 0);
    }
  });
  // Each ran once, however often it was requested.
  std::ifstream ran(path("ran"));
  const std::string text((std::istreambuf_iterator<char>(ran)), {});
  EXPECT_EQ(text.size(), 12u * 4);
}

TEST_P(CommandsTest, AReaderThatStopsHoldsNothingButItsWindow) {
  const long before = keeper_.rss_kib();  // a fork of this process: its memory counts too
  play([this]() -> asio::awaitable<void> {
    auto started = co_await box_->start(shell("a", "seq 1 3000000"));
    EXPECT_TRUE(started);
    CommandId id("a");
    auto lazy = co_await box_->attach(id, {});
    EXPECT_TRUE(lazy);
    // Another reader of the same command is not slowed, nor is the command.
    auto reader = co_await box_->attach(id, {});
    EXPECT_TRUE(reader);
    if (!lazy || !reader) co_return;
    auto seen = co_await drain(**reader);
    EXPECT_TRUE(seen.out == numbers(3'000'000));
    auto rest = co_await drain(**lazy);
    EXPECT_TRUE(rest.out == seen.out);
    EXPECT_TRUE(rest.end);
  });
  // Less than what was printed (22.3 MiB), with room for what sanitizers hold back.
  EXPECT_LT(keeper_.peak_kib() - before, 20 * 1024);
}

TEST_P(CommandsTest, TwoReadersMayStartAnywhere) {
  play([this]() -> asio::awaitable<void> {
    auto seen = co_await run_command(shell("a", "echo 0123456789"));
    EXPECT_TRUE(seen);
    CommandId id("a");
    const core::OutputOffsets middle{.out = 4, .err = 0};
    auto reader = co_await box_->attach(id, middle);
    EXPECT_TRUE(reader);
    if (!reader) co_return;
    auto event = co_await (*reader)->next();
    EXPECT_TRUE(event);
    if (event) EXPECT_EQ(std::get<core::OutputData>(*event).bytes, "456789\n");
    const core::OutputOffsets beyond{.out = 4000, .err = 0};
    auto past = co_await box_->attach(id, beyond);
    EXPECT_FALSE(past);
    EXPECT_EQ(past.error().code, Code::kOutOfRange);
  });
}

TEST_P(CommandsTest, AKilledKeeperIsLostNeverAnExitCode) {
  std::vector<std::string> deaths;
  line_->on_death([&](std::string reason) { deaths.push_back(std::move(reason)); });
  play([this]() -> asio::awaitable<void> {
    auto started = co_await box_->start(shell("a", "echo up; sleep 60"));
    EXPECT_TRUE(started);
    CommandId id("a");
    auto reader = co_await box_->attach(id, {});
    EXPECT_TRUE(reader);
    if (!reader) co_return;
    auto up = co_await (*reader)->next();
    EXPECT_TRUE(up);
    ::kill(keeper_.pid(), SIGKILL);
    auto lost = co_await (*reader)->next();
    EXPECT_FALSE(lost);
    EXPECT_EQ(lost.error().code, Code::kLost);
    auto after_that = co_await box_->start(shell("b", "true"));
    EXPECT_FALSE(after_that);
    EXPECT_EQ(after_that.error().code, Code::kLost);
  });
  EXPECT_EQ(deaths.size(), 1u);
}

// Spools of a sandbox that was stopped, and of one whose keeper was killed.
class SpoolTest : public ::testing::Test {
 protected:
  const cay::testing::TempDir temp_;
  const std::filesystem::path root_ = temp_.path();
  void SetUp() override { std::filesystem::create_directories(root_ / kSandbox); }

  // Runs commands in a keeper whose spool is root_/kSandbox, until `script` has ended.
  void with_keeper(bool polite) {
    UniqueFd spool(::open((root_ / kSandbox).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    keeper::testing::LocalKeeper keeper(
        Transport::kUnix, [&](keeper::Context& context) { context.spool_fd = spool.get(); });
    asio::io_context loop;
    wire::Hello hello;
    auto line = keeper_line(loop.get_executor(), {straight(keeper), kSandbox, "test"}, hello);
    line->start();
    auto body = [&]() -> asio::awaitable<void> {
      KeeperSandbox box(line);
      CommandSpec done;
      done.id = CommandId("done");
      done.argv = {"/bin/sh", "-c", "seq 1 100000; exit 5"};
      auto first = co_await box.start(std::move(done));
      EXPECT_TRUE(first);
      CommandId id("done");
      auto reader = co_await box.attach(id, {});
      EXPECT_TRUE(reader);
      if (!reader) co_return;
      auto seen = co_await drain(**reader);
      EXPECT_TRUE(seen.end);
      CommandSpec open;
      open.id = CommandId("open");
      open.argv = {"/bin/sh", "-c", "echo begun; sleep 60"};
      auto second = co_await box.start(std::move(open));
      EXPECT_TRUE(second);
      CommandId running("open");
      auto watcher = co_await box.attach(running, {});
      EXPECT_TRUE(watcher);
      if (!watcher) co_return;
      auto begun = co_await (*watcher)->next();
      EXPECT_TRUE(begun);
      if (polite) {
        auto ended = co_await polite_shutdown(line, Millis{5000});
        EXPECT_TRUE(ended);
        auto last = co_await (*watcher)->next();
        EXPECT_TRUE(last && std::holds_alternative<core::OutputEnd>(*last));
      } else {
        ::kill(keeper.pid(), SIGKILL);
      }
    };
    cay::testing::run<void>(loop, body());
    keeper.wait();
    loop.restart();
    loop.poll();
  }
  Result<std::vector<Command>> list(const char* sandbox = kSandbox) {
    auto spools = SpooledCommands::open(root_, SandboxId(sandbox), "");
    if (!spools) return spools.error();
    for (;;) {
      const auto more = spools->read(1);
      if (!more) return more.error();
      if (!*more) return spools->take();
    }
  }
  Seen read(const char* id) {
    asio::io_context loop;
    auto reader = spooled_reader(root_, SandboxId(kSandbox), CommandId(id), {}, "");
    EXPECT_TRUE(reader);
    if (!reader) return {};
    return cay::testing::run(loop, drain(**reader));
  }
};

TEST_F(SpoolTest, AStoppedSandboxKeepsEndsAndOutput) {
  with_keeper(true);
  const auto all = list();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2u);
  const auto done = read("done");
  EXPECT_TRUE(done.out == numbers(100'000));
  ASSERT_TRUE(done.end);
  EXPECT_EQ(done.end->end.exit_code, 5);
  const auto open = read("open");
  EXPECT_EQ(open.out, "begun\n");
  ASSERT_TRUE(open.end);
  EXPECT_EQ(open.end->end.state, CommandState::kKilled);
  EXPECT_EQ(open.end->end.by, "sandbox stop");
}

TEST_F(SpoolTest, ACommandWhoseKeeperWasKilledIsLostWithItsOutput) {
  with_keeper(false);
  const auto open = read("open");
  EXPECT_EQ(open.out, "begun\n");
  ASSERT_TRUE(open.end);
  EXPECT_EQ(open.end->end.state, CommandState::kLost);
  EXPECT_FALSE(open.end->end.reason.empty());
  const auto done = read("done");
  EXPECT_EQ(done.end->end.state, CommandState::kExited);
}

TEST_F(SpoolTest, NothingThatAKeeperCouldPlantIsFollowed) {
  with_keeper(true);
  const auto secret = root_ / "secret";
  std::ofstream(secret) << "api key";
  const auto out = root_ / kSandbox / "done" / "out";
  std::filesystem::remove(out);
  std::filesystem::create_symlink(secret, out);
  asio::io_context loop;
  auto reader = spooled_reader(root_, SandboxId(kSandbox), CommandId("done"), {}, "");
  ASSERT_TRUE(reader);
  auto event = cay::testing::run(loop, (*reader)->next());
  ASSERT_TRUE(event);
  EXPECT_TRUE(std::holds_alternative<core::OutputGap>(*event));  // reported as missing
  std::filesystem::remove(out);
  std::filesystem::create_hard_link(secret, out);
  auto linked = spooled_reader(root_, SandboxId(kSandbox), CommandId("done"), {}, "");
  ASSERT_TRUE(linked);
  auto again = cay::testing::run(loop, (*linked)->next());
  ASSERT_TRUE(again);
  EXPECT_TRUE(std::holds_alternative<core::OutputGap>(*again));
  const auto record = root_ / kSandbox / "done" / "record";
  std::ofstream(record) << "not a record";
  const auto garbled = spooled_reader(root_, SandboxId(kSandbox), CommandId("done"), {}, "");
  ASSERT_TRUE(garbled);
  EXPECT_EQ((*garbled)->command().end.state, CommandState::kLost);
  EXPECT_FALSE(spooled_reader(root_, SandboxId(kSandbox), CommandId("../../etc"), {}, ""));
  EXPECT_FALSE(list("../x"));
  const auto none = list("22222222-2222-4222-8222-222222222222");
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty());
}

// A host without descriptors is reported as such. No kept output counts as missing or dropped.
TEST_F(SpoolTest, WithoutDescriptorsThereIsAnErrorAndNoWrongAnswer) {
  with_keeper(false);  // `open` was cut off: its output is looked at too
  const auto opened_all = [](std::size_t free) {
    std::vector<UniqueFd> held;
    for (;;) {
      UniqueFd one(::open("/dev/null", O_RDONLY | O_CLOEXEC));
      if (!one) break;
      held.push_back(std::move(one));
    }
    EXPECT_EQ(errno, EMFILE);
    held.resize(held.size() - std::min(free, held.size()));
    return held;
  };
  // UBSan looks at an unknown type through a pipe of its own, which it could not open later. It
  // meets all types before.
  EXPECT_EQ(Error::from_errno(EMFILE, "out of descriptors").os_errno, EMFILE);
  EXPECT_TRUE(list());
  read("open");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{200, before.rlim_max};
  std::size_t refused = 0;
  for (std::size_t free = 0; free <= 8; ++free) {
    asio::io_context loop;  // it needs some itself
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
    auto held = opened_all(free);
    const auto all = list();
    auto reader = spooled_reader(root_, SandboxId(kSandbox), CommandId("open"), {}, "");
    Seen seen;
    if (reader) seen = cay::testing::run(loop, drain(**reader));
    held.clear();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    refused += all ? 0 : 1;
    EXPECT_TRUE(all ? all->size() == 2 : all.error().os_errno == EMFILE) << free;
    EXPECT_TRUE(reader || reader.error().os_errno == EMFILE) << free;
    if (seen.end) {
      EXPECT_EQ(seen.out, "begun\n") << free;
      EXPECT_EQ(seen.end->end.state, CommandState::kLost);
    }
  }
  EXPECT_GT(refused, 0u);
  EXPECT_LT(refused, 9u);
}

}  // namespace
}  // namespace cay::runtime::testing
