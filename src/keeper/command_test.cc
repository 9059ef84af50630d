// Commands through a real keeper: how they end, what they print, who may kill them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>

#include "base/error.h"
#include "keeper/command_state.h"
#include "keeper/loop.h"
#include "keeper/testing/local_keeper.h"
#include "wire/spool_record.h"

namespace cay::keeper::testing {
namespace {

using wire::Type;

CommandState state(const wire::CommandMsg& message) {
  return static_cast<CommandState>(message.state);
}

class CommandTest : public ::testing::TestWithParam<Transport> {
 protected:
  LocalKeeper keeper{GetParam()};
  Client client = keeper.client();
};

INSTANTIATE_TEST_SUITE_P(Over, CommandTest, ::testing::Values(Transport::kUnix, Transport::kTcp),
                         [](const auto& transport) {
                           return transport.param == Transport::kUnix ? "Unix" : "Tcp";
                         });

TEST_P(CommandTest, TellsOutputAndExitCode) {
  const Output got = client.run(shell("a", "echo hello; echo oops >&2; exit 7"));
  EXPECT_EQ(got.out, "hello\n");
  EXPECT_EQ(got.err, "oops\n");
  EXPECT_EQ(state(got.end), CommandState::kExited);
  EXPECT_EQ(got.end.exit_code, 7);
  EXPECT_EQ(got.end.witness, "outside");
  EXPECT_EQ(got.end.out.bytes, 6U);
  EXPECT_GT(got.end.pid, 0);
  EXPECT_GT(got.end.ended_at, 0);
}

TEST_P(CommandTest, AShellLineLongerThanAnArgumentRuns) {
  const std::string filler(200'000, 'x');
  wire::StartCommand request =
      shell("long", "v=" + filler + "\necho ${#v}; ls /proc/self/fd | wc -l; exit 7");
  request.shell_line = true;
  const Output got = client.run(request);
  EXPECT_EQ(got.out, "200000\n4\n")
      << got.err;  // stdin, stdout, stderr and ls's own: no descriptor of ours
  EXPECT_EQ(got.end.exit_code, 7);
  EXPECT_TRUE(got.end.argv_truncated);
  EXPECT_EQ(got.end.argv.back().substr(0, 4), "v=xx");
  // Positive control: as an argument it cannot.
  request.command_id = "argument";
  request.shell_line = false;
  EXPECT_EQ(error_of(client.call(wire::Type::kStart, request)).reason, "arguments_too_long");
}

TEST_P(CommandTest, ArgumentsUpToTheKernelsLimitRun) {
  wire::StartCommand request = command("most", {"/bin/sh", "-c", "echo $#"});
  while (request.argv.size() < 18) request.argv.emplace_back(110'000, 'x');
  const Output got = client.run(request);
  EXPECT_EQ(got.out, "14\n") << got.err;
  EXPECT_TRUE(got.end.argv_truncated);
}

TEST_P(CommandTest, ASignalIsNotAnExitCode) {
  const Output killed = client.run(shell("a", "kill -9 $$"));
  EXPECT_EQ(state(killed.end), CommandState::kSignalled);
  EXPECT_EQ(killed.end.signal, SIGKILL);
  const Output exited = client.run(shell("b", "exit 137"));
  EXPECT_EQ(state(exited.end), CommandState::kExited);
  EXPECT_EQ(exited.end.exit_code, 137);
}

TEST_P(CommandTest, ATimeoutKillsTheTreeAndSaysSo) {
  wire::StartCommand request = shell("a", "sleep 600 & sleep 600");
  request.timeout_ms = 100;
  const Output got = client.run(request);
  EXPECT_EQ(state(got.end), CommandState::kTimedOut);
  EXPECT_EQ(got.end.signal, SIGKILL);
}

TEST_P(CommandTest, AnIdleCommandIsKilledOnlyWithoutReaders) {
  wire::StartCommand request = shell("idle", "sleep 600");
  request.idle_timeout_ms = 150;
  client.start(request);
  wire::Attach attach;
  attach.command_id = "idle";
  const std::uint32_t reader = client.ask(Type::kAttach, attach);
  EXPECT_EQ(type_of(client.next(reader)), Type::kCommand);
  // A command that outlasts the idle time: the one that is read must still run after it.
  client.run(shell("later", "sleep 0.4"));
  auto now = wire::decode<wire::CommandMsg>(
                 client.call(Type::kGetCommand, wire::CommandRef{"idle"}).payload)
                 .value();
  EXPECT_EQ(state(now), CommandState::kRunning);
  client.send(Type::kCancel, reader, wire::Empty{});
  client.run(shell("later2", "sleep 0.4"));
  now = wire::decode<wire::CommandMsg>(
            client.call(Type::kGetCommand, wire::CommandRef{"idle"}).payload)
            .value();
  EXPECT_EQ(state(now), CommandState::kIdleKilled);
}

TEST_P(CommandTest, KillEndsTheTreeByWhom) {
  client.start(shell("a", "sleep 600 & sleep 600"));
  EXPECT_EQ(type_of(client.call(Type::kKill, wire::Kill{"a", 0, "client"})), Type::kOk);
  const Output got = client.attach("a");
  EXPECT_EQ(state(got.end), CommandState::kKilled);
  EXPECT_EQ(got.end.by, "client");
}

TEST_P(CommandTest, AnotherSignalIsKilledOnlyIfTheStatusShowsIt) {
  client.start(shell("a", "trap 'exit 3' TERM; echo up; while :; do sleep 0.05; done"));
  wire::Attach attach;
  attach.command_id = "a";
  attach.credit = 1000;
  const std::uint32_t reader = client.ask(Type::kAttach, attach);
  client.collect(reader, 1);
  client.call(Type::kKill, wire::Kill{"a", SIGTERM, "client"});
  const Output handled = client.collect(reader);
  EXPECT_EQ(state(handled.end), CommandState::kExited);
  EXPECT_EQ(handled.end.exit_code, 3);

  client.start(shell("b", "exec sleep 600"));
  client.call(Type::kKill, wire::Kill{"b", SIGTERM, "client"});
  const Output died = client.attach("b");
  EXPECT_EQ(state(died.end), CommandState::kKilled);
  EXPECT_EQ(died.end.signal, SIGTERM);
}

// A busy machine may run the child too late, so one of several tries is enough.
TEST_P(CommandTest, WhatBackgroundChildrenWriteSoonAfterTheEndIsOutput) {
  Output got;
  for (int i = 0; i < 10 && got.out != "nowlate"; ++i) {
    const std::string id = "a" + std::to_string(i);
    got = client.run(shell(id, "(sleep 0.05; printf late) & printf now; exit 3"));
  }
  EXPECT_EQ(got.out, "nowlate");
  EXPECT_EQ(got.after_end, 0U);
  EXPECT_EQ(state(got.end), CommandState::kExited);
  EXPECT_EQ(got.end.exit_code, 3);
  EXPECT_EQ(got.end.out.end_offset, 7U);
}

TEST_P(CommandTest, BackgroundChildrenDoNotDelayTheEndAndGoOnWriting) {
  const auto begin = std::chrono::steady_clock::now();
  const std::string gate = keeper.home() + "/gate";
  ASSERT_EQ(::mkfifo(gate.c_str(), 0666), 0);
  const Output got = client.run(shell("a", "(read x < " + gate + "; echo late) & echo now"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  EXPECT_EQ(got.out, "now\n");
  EXPECT_EQ(state(got.end), CommandState::kExited);
  const UniqueFd writer(::open(gate.c_str(), O_WRONLY));
  ASSERT_EQ(::write(writer.get(), "x\n", 2), 2);
  // The late bytes come into the same spool, reported as after the end.
  for (int i = 0; i < 500; ++i) {
    const Output again = client.attach("a");
    EXPECT_EQ(again.end.out.end_offset, 4U);
    if (again.out == "now\nlate\n") {
      EXPECT_EQ(again.after_end, 5U);
      return;
    }
    client.run(shell("tick" + std::to_string(i), "sleep 0.01"));
  }
  FAIL() << "the late bytes never came";
}

TEST_P(CommandTest, EndTreeKillsWhatIsLeft) {
  wire::StartCommand request = shell("a", "sleep 600 & echo $!");
  request.end_tree = true;
  const Output got = client.run(request);
  const auto left = static_cast<pid_t>(std::stol(got.out));
  for (int i = 0; i < 500 && ::kill(left, 0) == 0; ++i)
    client.run(shell("tick" + std::to_string(i), "sleep 0.01"));
  EXPECT_NE(::kill(left, 0), 0);
}

TEST_P(CommandTest, TheSameIdNeverRunsTwice) {
  wire::StartCommand request =
      shell("a", "echo once >> " + keeper.home() + "/log; cat " + keeper.home() + "/log");
  request.digest = "d1";
  EXPECT_FALSE(client.start(request).known);
  client.attach("a");
  EXPECT_TRUE(client.start(request).known);
  const Output again = client.attach("a");
  EXPECT_EQ(again.out, "once\n");
  request.digest = "d2";
  const wire::ErrorMsg conflict = error_of(client.call(Type::kStart, request));
  EXPECT_EQ(conflict.code, static_cast<std::uint32_t>(Code::kConflict));
  request.ignore_mismatch = true;
  EXPECT_TRUE(client.start(request).known);
}

TEST_P(CommandTest, ParallelStartsOfOneIdAreOneCommand) {
  wire::StartCommand request = shell("a", "echo x");
  const std::uint32_t first = client.ask(Type::kStart, request);
  const std::uint32_t second = client.ask(Type::kStart, request);
  wire::Attach attach;
  attach.command_id = "a";
  attach.credit = 1000;
  const std::uint32_t reader = client.ask(Type::kAttach, attach);  // before the start is decided
  const auto one = wire::decode<wire::CommandMsg>(client.next(first).payload).value();
  const auto two = wire::decode<wire::CommandMsg>(client.next(second).payload).value();
  EXPECT_FALSE(one.known);
  EXPECT_TRUE(two.known);
  EXPECT_EQ(one.pid, two.pid);
  EXPECT_EQ(client.collect(reader).out, "x\n");
}

TEST_P(CommandTest, StartFailuresAreTyped) {
  wire::StartCommand request = command("a", {"no-such-program-here"});
  EXPECT_EQ(error_of(client.call(Type::kStart, request)).reason, "command_not_found");
  request.argv = {"/etc/passwd"};
  EXPECT_EQ(error_of(client.call(Type::kStart, request)).reason, "not_executable");
  request.argv = {"true"};
  request.cwd = "/no/such/dir";
  EXPECT_EQ(error_of(client.call(Type::kStart, request)).reason, "bad_cwd");
  request.cwd = "/";
  request.user = "no-such-user";
  EXPECT_EQ(error_of(client.call(Type::kStart, request)).reason, "bad_user");
  request.user = "";
  request.command_id = "../x";
  EXPECT_EQ(error_of(client.call(Type::kStart, request)).reason, "bad_command");
  // A failed start leaves nothing: the id is free.
  EXPECT_EQ(client.run(command("a", {"true"})).end.exit_code, 0);
}

TEST_P(CommandTest, AStartThatNobodyWaitsForAnyMoreDoesNotHappen) {
  wire::StartCommand request = command("a", {"true"});
  request.not_after_ms = monotonic_ms() - 1;
  EXPECT_EQ(error_of(client.call(Type::kStart, request)).reason, "start_too_late");
  EXPECT_EQ(error_of(client.call(Type::kGetCommand, wire::CommandRef{"a"})).reason,
            "unknown_command");
  request.not_after_ms = monotonic_ms() + 60'000;
  EXPECT_EQ(client.run(request).end.exit_code, 0);
}

TEST_P(CommandTest, EnvironmentAndDirectoryAreWhatWasAsked) {
  wire::StartCommand request =
      command("a", {"sh", "-c", "pwd; echo $A; echo $HOME; echo ${TERM-none}"});
  request.env.push_back("A=b c");
  request.cwd = "/usr";
  const Output got = client.run(request);
  EXPECT_TRUE(got.out.starts_with("/usr\nb c\n/")) << got.out;
  EXPECT_TRUE(got.out.ends_with("\nnone\n")) << got.out;
}

TEST_P(CommandTest, NothingOfTheKeeperIsInherited) {
  const Output got = client.run(command("a", {"ls", "/proc/self/fd"}));
  EXPECT_EQ(got.out, "0\n1\n2\n3\n");  // 3 is ls's own
}

TEST_P(CommandTest, ListsAndForgets) {
  client.run(command("a", {"true"}));
  client.run(command("b", {"false"}));
  const std::uint32_t list = client.ask(Type::kListCommands, wire::Empty{});
  std::vector<std::string> ids;
  for (;;) {
    const wire::Frame frame = client.next(list);
    if (type_of(frame) == Type::kEof) break;
    ids.push_back(wire::decode<wire::CommandMsg>(frame.payload).value().command_id);
  }
  EXPECT_EQ(ids, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(type_of(client.call(Type::kForget, wire::CommandRef{"a"})), Type::kOk);
  EXPECT_EQ(error_of(client.call(Type::kGetCommand, wire::CommandRef{"a"})).code,
            static_cast<std::uint32_t>(Code::kNotFound));
  EXPECT_NE(::access((keeper.spool() + "/a").c_str(), F_OK), 0);
  EXPECT_EQ(::access((keeper.spool() + "/b").c_str(), F_OK), 0);
}

TEST_P(CommandTest, AFinishedCommandGoesAfterItsTtl) {
  wire::StartCommand request = command("a", {"true"});
  request.ttl_ms = 50;
  client.run(request);
  client.run(shell("b", "sleep 0.3"));
  EXPECT_EQ(error_of(client.call(Type::kGetCommand, wire::CommandRef{"a"})).code,
            static_cast<std::uint32_t>(Code::kNotFound));
}

TEST_P(CommandTest, TheEndIsKeptForTheReaderThatFollows) {
  wire::StartCommand request = shell("a", "echo out; exit 3");
  request.ttl_ms = 0;
  client.start(request);
  wire::StartCommand awaited = shell("b", "echo out; exit 3");
  awaited.ttl_ms = 0;
  awaited.reader_follows = true;
  client.start(awaited);
  client.run(shell("c", "sleep 0.2"));
  const auto gone = [this](const std::string& id) {
    return type_of(client.call(Type::kGetCommand, wire::CommandRef{id})) == Type::kError;
  };
  EXPECT_TRUE(gone("a"));  // positive control: nobody was announced, and nobody came
  EXPECT_FALSE(gone("b"));
  client.start(awaited);  // a repeat finds it, and its reader comes next as well
  const Output got = client.attach("b");
  EXPECT_EQ(got.out, "out\n");
  EXPECT_EQ(got.end.exit_code, 3);
  for (int i = 0; i < 500 && !gone("b"); ++i) ::usleep(10'000);
  EXPECT_TRUE(gone("b"));  // read once, its ttl counts
}

// Ends reach a daemon that no longer reports them: its client has time to come back to the next
// one.
TEST_P(CommandTest, NothingGoesWhileTheDaemonParts) {
  wire::StartCommand request = command("a", {"true"});
  request.ttl_ms = 50;
  client.send(Type::kCancel, 0, wire::Empty{});
  client.run(request);
  client.run(shell("b", "sleep 0.3"));
  EXPECT_EQ(type_of(client.call(Type::kGetCommand, wire::CommandRef{"a"})), Type::kCommand);
}

TEST_P(CommandTest, ShutdownRecordsEveryEnd) {
  client.start(shell("a", "sleep 600"));
  client.run(shell("b", "exit 4"));
  EXPECT_EQ(type_of(client.call(Type::kShutdown, wire::Empty{})), Type::kOk);
  EXPECT_EQ(keeper.wait(), 0);
  const auto record = [this](const std::string& id) {
    const UniqueFd file(::open((keeper.spool() + "/" + id + "/record").c_str(), O_RDONLY));
    char buffer[8192];
    const ssize_t got = ::read(file.get(), buffer, sizeof buffer);
    return wire::read_record(
               std::string_view(buffer, static_cast<std::size_t>(std::max<ssize_t>(got, 0))))
        ->message;
  };
  EXPECT_EQ(state(record("a")), CommandState::kKilled);
  EXPECT_EQ(record("a").by, "sandbox stop");
  EXPECT_EQ(record("b").exit_code, 4);
}

TEST(CommandLossTest, ANewDaemonTakesOverAndNothingIsLost) {
  LocalKeeper keeper(Transport::kUnix, [](Context& context) { context.orphan_grace_ms = 200; });
  wire::StartCommand request = shell("a", "echo up; exec sleep 600");
  request.kill_on_disconnect = true;
  {
    Client first = keeper.client();
    first.start(request);
    wire::Attach attach;
    attach.command_id = "a";
    attach.credit = 1000;
    first.collect(first.ask(Type::kAttach, attach), 1);
  }
  Client second = keeper.client();
  // The daemon went, not the reader: it lives until the grace is over.
  auto now =
      wire::decode<wire::CommandMsg>(second.call(Type::kGetCommand, wire::CommandRef{"a"}).payload)
          .value();
  EXPECT_EQ(state(now), CommandState::kRunning);
  second.run(shell("b", "sleep 0.6"));
  const Output got = second.attach("a");
  EXPECT_EQ(got.out, "up\n");
  EXPECT_EQ(state(got.end), CommandState::kKilled);
  EXPECT_EQ(got.end.by, "disconnect");
}

TEST(CommandLossTest, ACommandWhoseInputTheDaemonTookWithItIsLost) {
  LocalKeeper keeper;
  {
    Client first = keeper.client();
    for (const char* id : {"part", "said", "whole", "ended"}) first.start(shell(id, "wc -c"));
    EXPECT_EQ(type_of(first.call(Type::kStdin, wire::Stdin{"part", "xx", true})), Type::kOk);
    EXPECT_EQ(type_of(first.call(Type::kStdin, wire::Stdin{"said", "xx", false})), Type::kOk);
    EXPECT_EQ(type_of(first.call(Type::kStdin, wire::Stdin{"said", "", true})), Type::kOk);
    EXPECT_EQ(type_of(first.call(Type::kStdin, wire::Stdin{"whole", "xx", true})), Type::kOk);
    EXPECT_EQ(type_of(first.call(Type::kStdin, wire::Stdin{"whole", "yy", false})), Type::kOk);
    EXPECT_EQ(type_of(first.call(Type::kStdin, wire::Stdin{"ended", "xx", true})), Type::kOk);
    EXPECT_EQ(type_of(first.call(Type::kCloseStdin, wire::CommandRef{"ended"})), Type::kOk);
  }
  Client second = keeper.client();
  for (const char* id : {"part", "said"}) {
    const Output got = second.attach(id);
    EXPECT_EQ(state(got.end), CommandState::kLost) << id;
    EXPECT_TRUE(got.end.reason.starts_with("input lost")) << got.end.reason;
  }
  EXPECT_EQ(second.attach("ended").out, "2\n");
  second.call(Type::kCloseStdin, wire::CommandRef{"whole"});
  EXPECT_EQ(second.attach("whole").out, "4\n");
}

TEST(CommandLossTest, KillOnDisconnectFiresWhenTheLastReaderGoes) {
  LocalKeeper keeper;
  Client client = keeper.client();
  wire::StartCommand request = shell("a", "exec sleep 600");
  request.kill_on_disconnect = true;
  client.start(request);
  wire::Attach attach;
  attach.command_id = "a";
  const std::uint32_t one = client.ask(Type::kAttach, attach);
  const std::uint32_t two = client.ask(Type::kAttach, attach);
  client.next(one);
  client.next(two);
  client.send(Type::kCancel, one, wire::Empty{});
  auto now =
      wire::decode<wire::CommandMsg>(client.call(Type::kGetCommand, wire::CommandRef{"a"}).payload)
          .value();
  EXPECT_EQ(state(now), CommandState::kRunning);
  client.send(Type::kCancel, two, wire::Empty{});
  EXPECT_EQ(state(client.attach("a").end), CommandState::kKilled);
}

}  // namespace
}  // namespace cay::keeper::testing
