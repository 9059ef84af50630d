// Pausing in a real sandbox: the kernel's freezer, clocks that stand still, and every way out.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "base/error.h"
#include "keeper/command_state.h"
#include "keeper/testing/local_keeper.h"
#include "keeper/testing/local_sandbox.h"

namespace cay::keeper::testing {
namespace {

using namespace std::chrono_literals;
using wire::Type;

CommandState state(const wire::CommandMsg& message) {
  return static_cast<CommandState>(message.state);
}

class PauseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!LocalSandbox::possible(why)) GTEST_SKIP() << why;
    sandbox = std::make_unique<LocalSandbox>(64ULL << 20);
    keeper = std::make_unique<LocalKeeper>(
        Transport::kUnix,
        [this](Context& context) {
          ASSERT_EQ(::fchown(context.spool_fd, sandbox->keeper_uid(), 0), 0);
        },
        [this](Context& context) { sandbox->enter(context); });
    client = std::make_unique<Client>(keeper->client());
  }
  void TearDown() override {
    client.reset();
    keeper.reset();
    sandbox.reset();
  }
  Type pause() { return type_of(client->call(Type::kPause, wire::Empty{})); }
  Type resume() { return type_of(client->call(Type::kResume, wire::Empty{})); }
  wire::StatsMsg stats() {
    return *wire::decode<wire::StatsMsg>(client->call(Type::kStats, wire::Empty{}).payload);
  }
  wire::CommandMsg get(const std::string& id) {
    return *wire::decode<wire::CommandMsg>(
        client->call(Type::kGetCommand, wire::CommandRef{id}).payload);
  }
  // Waits until the command has written more than `bytes`.
  void grows_past(const std::string& id, std::uint64_t bytes) {
    const auto end = std::chrono::steady_clock::now() + 10s;
    while (get(id).out.bytes <= bytes) {
      ASSERT_LT(std::chrono::steady_clock::now(), end) << "no more output";
      std::this_thread::sleep_for(2ms);
    }
  }
  static wire::StartCommand ticker() { return shell("ticker", "while :; do echo tick; done"); }

  std::unique_ptr<LocalSandbox> sandbox;
  std::unique_ptr<LocalKeeper> keeper;
  std::unique_ptr<Client> client;
};

TEST_F(PauseTest, NothingRunsUntilTheResumeAndStreamsStayAttached) {
  client->start(ticker());
  grows_past("ticker", 100);
  EXPECT_FALSE(stats().paused);
  ASSERT_EQ(pause(), Type::kOk);
  EXPECT_TRUE(stats().paused);
  const std::uint32_t stream = client->ask(Type::kAttach, wire::Attach{"ticker", 0, 0, 1 << 20});
  EXPECT_EQ(type_of(client->next(stream)), Type::kCommand);
  // The pipe is drained by now; from here on a paused command cannot have written.
  const std::uint64_t held = get("ticker").out.bytes;
  std::this_thread::sleep_for(100ms);
  EXPECT_EQ(get("ticker").out.bytes, held);
  ASSERT_EQ(resume(), Type::kOk);
  grows_past("ticker", held);
  EXPECT_EQ(type_of(client->call(Type::kKill, wire::Kill{"ticker", 0, "client"})), Type::kOk);
  const Output got = client->collect(stream);
  EXPECT_TRUE(got.ended);
  EXPECT_GT(got.out.size(), held);
}

TEST_F(PauseTest, BothAreIdempotent) {
  EXPECT_EQ(resume(), Type::kOk);
  EXPECT_EQ(pause(), Type::kOk);
  EXPECT_EQ(pause(), Type::kOk);
  EXPECT_EQ(resume(), Type::kOk);
  EXPECT_EQ(client->run(shell("a", "echo hi")).out, "hi\n");
}

TEST_F(PauseTest, TimeoutsStandStill) {
  wire::StartCommand request = shell("slow", "sleep 600");
  request.timeout_ms = 500;
  request.idle_timeout_ms = 500;
  client->start(request);
  ASSERT_EQ(pause(), Type::kOk);
  std::this_thread::sleep_for(800ms);
  EXPECT_EQ(state(get("slow")), CommandState::kRunning);
  ASSERT_EQ(resume(), Type::kOk);
  const Output got = client->attach("slow");  // a reader: the timeout remains
  EXPECT_EQ(state(got.end), CommandState::kTimedOut);
}

TEST_F(PauseTest, APausedCommandCanBeKilledWithItsTree) {
  client->start(shell("a", "sleep 601 & setsid sleep 601 & sleep 601"));
  ASSERT_EQ(pause(), Type::kOk);
  EXPECT_EQ(type_of(client->call(Type::kKill, wire::Kill{"a", 0, "client"})), Type::kOk);
  EXPECT_EQ(state(client->attach("a").end), CommandState::kKilled);
  EXPECT_TRUE(stats().paused);
  ASSERT_EQ(resume(), Type::kOk);
  EXPECT_EQ(client->run(shell("b", "ps ax | grep -c '[s]leep 601'")).out, "0\n");
}

TEST_F(PauseTest, ASignalArrivesAtTheResume) {
  client->start(shell("a", "trap 'exit 7' TERM; echo up; while :; do sleep 0.01; done"));
  grows_past("a", 0);
  ASSERT_EQ(pause(), Type::kOk);
  EXPECT_EQ(type_of(client->call(Type::kKill, wire::Kill{"a", SIGTERM, "client"})), Type::kOk);
  std::this_thread::sleep_for(50ms);
  EXPECT_EQ(state(get("a")), CommandState::kRunning);
  ASSERT_EQ(resume(), Type::kOk);
  EXPECT_EQ(client->attach("a").end.exit_code, 7);
}

TEST_F(PauseTest, NothingNewStartsButFilesGoOn) {
  const wire::StartCommand old = shell("old", "sleep 600");
  client->start(old);
  ASSERT_EQ(pause(), Type::kOk);
  const auto refused = error_of(client->call(Type::kStart, command("new", {"true"})));
  EXPECT_EQ(refused.reason, "sandbox_paused");
  EXPECT_EQ(refused.code, static_cast<std::uint32_t>(Code::kNotReady));
  EXPECT_EQ(type_of(client->call(Type::kStart, old)),
            Type::kCommand);  // get-or-create: it is there
  wire::FileOp look;
  look.verb = static_cast<std::uint8_t>(wire::FileVerb::kStat);
  look.path = "/etc/passwd";
  EXPECT_EQ(type_of(client->call(Type::kFileOp, look)), Type::kFileInfo);
  ASSERT_EQ(resume(), Type::kOk);
  EXPECT_EQ(client->run(command("new", {"true"})).end.exit_code, 0);
}

TEST_F(PauseTest, AnotherDaemonFindsItPaused) {
  client->start(ticker());
  ASSERT_EQ(pause(), Type::kOk);
  client = std::make_unique<Client>(keeper->client());
  EXPECT_TRUE(stats().paused);
  ASSERT_EQ(resume(), Type::kOk);
  grows_past("ticker", get("ticker").out.bytes);
}

TEST_F(PauseTest, ShutdownEndsWhatIsPaused) {
  client->start(shell("a", "sleep 600"));
  ASSERT_EQ(pause(), Type::kOk);
  EXPECT_EQ(type_of(client->call(Type::kShutdown, wire::Empty{})), Type::kOk);
  EXPECT_EQ(keeper->wait(), 0);
}

TEST_F(PauseTest, StartsUnderWayAreWaitedFor) {
  std::vector<std::uint32_t> starts;
  for (int i = 0; i < 20; ++i)
    starts.push_back(client->ask(Type::kStart, shell("c" + std::to_string(i), "sleep 600")));
  const std::uint32_t paused = client->ask(Type::kPause, wire::Empty{});
  for (const auto start : starts) EXPECT_EQ(type_of(client->next(start)), Type::kCommand);
  EXPECT_EQ(type_of(client->next(paused)), Type::kOk);
  ASSERT_EQ(resume(), Type::kOk);
}

TEST_F(PauseTest, QuietCountsFromTheEndOfTheLastProcess) {
  EXPECT_EQ(stats().quiet_ms, -1);
  client->run(shell("a", "setsid sleep 602 >/dev/null 2>&1 & exit 0"));
  EXPECT_EQ(stats().quiet_ms, 0);  // what it left still runs
  EXPECT_EQ(stats().running_commands, 0U);
  client->call(Type::kKill, wire::Kill{"a", 0, "client"});
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (stats().quiet_ms <= 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(2ms);
  EXPECT_GT(stats().quiet_ms, 0);
  EXPECT_LT(stats().quiet_ms, 9000);
}

}  // namespace

// Without cgroups there is no freezer, and the keeper reports that.
TEST(PauseWithoutGroupsTest, IsUnsupported) {
  const LocalKeeper keeper;
  Client client = keeper.client();
  EXPECT_EQ(error_of(client.call(Type::kPause, wire::Empty{})).reason, "pause_unsupported");
  EXPECT_EQ(client.run(shell("a", "echo on")).out, "on\n");
}

}  // namespace cay::keeper::testing
