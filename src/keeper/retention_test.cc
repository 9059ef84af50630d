// The retention of finished commands: the limit of the whole sandbox, and the rest of earlier
// lives.
#include <gtest/gtest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "keeper/command_state.h"
#include "keeper/spool_budget.h"
#include "keeper/testing/local_keeper.h"

namespace cay::keeper::testing {
namespace {

namespace fs = std::filesystem;
using wire::Type;

CommandState state(const wire::CommandMsg& message) {
  return static_cast<CommandState>(message.state);
}

std::string zeros(std::uint64_t bytes) { return "head -c " + std::to_string(bytes) + " /dev/zero"; }

TEST(SpoolBudgetTest, LeavesALittleForEveryStream) {
  SpoolBudget budget(100'000);
  EXPECT_EQ(budget.room(0), 100'000U);
  budget.take(90'000);
  EXPECT_EQ(budget.room(90'000), 10'000U);
  EXPECT_EQ(budget.room(0), SpoolBudget::kAlways);
  budget.take(20'000);
  EXPECT_EQ(budget.room(90'000), 0U);
  EXPECT_EQ(budget.room(SpoolBudget::kAlways), 0U);
  EXPECT_EQ(budget.room(1000), SpoolBudget::kAlways - 1000);
  budget.give_back(110'000);
  EXPECT_EQ(budget.room(0), 100'000U);
}

class SandboxLimitTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kLimit = 1'000'000;
  LocalKeeper keeper{Transport::kUnix,
                     [](Context& context) { context.sandbox_spool_limit = kLimit; }};
  Client client = keeper.client();
};

TEST_F(SandboxLimitTest, PastItTheGapIsMarkedAndSmallOutputsStayWhole) {
  const Output first = client.run(shell("first", zeros(700'000)));
  EXPECT_EQ(first.end.out.gap_end, 0U);
  client.run(shell("second", zeros(700'000)));
  const Output second = client.attach("second");
  ASSERT_EQ(second.gaps.size(), 1U);
  EXPECT_EQ(second.out.size() + second.gaps[0].length, 700'000U);
  EXPECT_EQ(second.out.size(), kLimit - 700'000);
  client.run(shell("third", zeros(200'000) + "; echo small >&2"));
  const Output third = client.attach("third");
  EXPECT_EQ(third.out.size(), SpoolBudget::kAlways);
  EXPECT_EQ(third.err, "small\n");
  EXPECT_EQ(client.attach("first").out.size(), 700'000U);  // what was kept stays kept
}

TEST_F(SandboxLimitTest, WhatIsForgottenMakesRoom) {
  client.run(shell("a", zeros(1'000'000)));
  EXPECT_EQ(type_of(client.call(Type::kForget, wire::CommandRef{"a"})), Type::kOk);
  client.run(shell("b", zeros(1'000'000)));
  EXPECT_TRUE(client.attach("b").gaps.empty());
}

// A sandbox that lives twice on one spool directory.
class EarlierLifeTest : public ::testing::Test {
 protected:
  EarlierLifeTest() : first(std::make_unique<LocalKeeper>()) { kept = first->home() + "-kept"; }
  ~EarlierLifeTest() override { fs::remove_all(kept); }
  // Ends the first life; `how` may be SIGKILL. The second begins with what it left.
  void live_again(int how = SIGTERM) {
    ::kill(first->pid(), how);
    first->wait();
    fs::copy(first->spool(), kept, fs::copy_options::recursive);
    first.reset();
    second = std::make_unique<LocalKeeper>(Transport::kUnix, [this](Context& context) {
      context.spool_fd = ::open(kept.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      context.boot_id = boot_id;
    });
    client = std::make_unique<Client>(second->client());
  }
  wire::CommandMsg get(const std::string& id) {
    return *wire::decode<wire::CommandMsg>(
        client->call(Type::kGetCommand, wire::CommandRef{id}).payload);
  }
  std::unique_ptr<LocalKeeper> first, second;
  std::unique_ptr<Client> client;
  std::string kept, boot_id;
};

TEST_F(EarlierLifeTest, ItsCommandsAreKnownAndNeverRunAgain) {
  Client before = first->client();
  wire::StartCommand request =
      shell("a", "echo once >> " + first->home() + "-ran; echo out; exit 3");
  request.digest = "one";
  const std::string ran = first->home() + "-ran";
  before.run(request);
  live_again();
  const wire::Frame again = client->call(Type::kStart, request);
  ASSERT_EQ(type_of(again), Type::kCommand);
  const auto message = *wire::decode<wire::CommandMsg>(again.payload);
  EXPECT_TRUE(message.known);
  EXPECT_EQ(message.exit_code, 3);
  EXPECT_EQ(client->attach("a").out, "out\n");
  wire::StartCommand other = shell("a", "echo other");
  other.digest = "another";
  EXPECT_EQ(error_of(client->call(Type::kStart, other)).reason, "command_id_in_use");
  EXPECT_EQ(fs::file_size(ran), 5U);
  fs::remove(ran);
}

TEST_F(EarlierLifeTest, AreListedForgottenAndChargedForTheirBytes) {
  Client before = first->client();
  for (int i = 0; i < 100; ++i)
    before.run(shell("c" + std::to_string(i), "echo " + std::to_string(i)));
  live_again();
  const std::uint32_t channel = client->ask(Type::kListCommands, wire::Empty{});
  int listed = 0;
  while (type_of(client->next(channel)) == Type::kCommand) ++listed;
  EXPECT_EQ(listed, 100);
  EXPECT_EQ(type_of(client->call(Type::kForget, wire::CommandRef{"c7"})), Type::kOk);
  EXPECT_EQ(error_of(client->call(Type::kGetCommand, wire::CommandRef{"c7"})).reason,
            "unknown_command");
  EXPECT_FALSE(fs::exists(kept + "/c7"));
}

TEST_F(EarlierLifeTest, OneThatSawNoEndIsLost) {
  Client before = first->client();
  before.start(shell("a", "echo part; exec sleep 600"));
  while (!fs::exists(first->spool() + "/a/out") || fs::file_size(first->spool() + "/a/out") < 5)
    ::usleep(2000);
  const auto pid = static_cast<pid_t>(
      wire::decode<wire::CommandMsg>(before.call(Type::kGetCommand, wire::CommandRef{"a"}).payload)
          ->pid);
  live_again(SIGKILL);
  ::kill(pid, SIGKILL);
  const Output got = client->attach("a");
  EXPECT_EQ(state(got.end), CommandState::kLost);
  EXPECT_EQ(got.out, "part\n");
  EXPECT_EQ(state(get("a")), CommandState::kLost);
}

TEST_F(EarlierLifeTest, AnIdWithoutAReadableRecordIsFree) {
  live_again();
  fs::create_directory(kept + "/x");
  std::ofstream(kept + "/x/out") << "old and long output";
  EXPECT_EQ(client->run(shell("x", "echo new")).out, "new\n");
}

}  // namespace
}  // namespace cay::keeper::testing
