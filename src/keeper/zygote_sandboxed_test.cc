// Commands started by the zygote, and by the other way when it is gone or cannot.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "keeper/testing/local_keeper.h"
#include "keeper/testing/local_sandbox.h"

namespace cay::keeper::testing {
namespace {

using wire::Type;

constexpr std::int64_t kNever = 3'600'000;

class ZygoteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (!LocalSandbox::possible(why)) GTEST_SKIP() << why;
    begin(kNever);
  }
  void begin(std::int64_t idle_ms, bool waits_for_use = false) {
    TearDown();
    sandbox = std::make_unique<LocalSandbox>(64ULL << 20);
    keeper = std::make_unique<LocalKeeper>(
        Transport::kUnix,
        [this, idle_ms, waits_for_use](Context& context) {
          ASSERT_EQ(::fchown(context.spool_fd, sandbox->keeper_uid(), 0), 0);
          context.zygote_idle_ms = idle_ms;
          context.waits_for_use = waits_for_use;
        },
        [this](Context& context) { sandbox->enter(context); });
    client = std::make_unique<Client>(keeper->client());
  }
  void TearDown() override {
    client.reset();
    keeper.reset();
    sandbox.reset();
  }

  // The keeper's zygote, or 0.
  pid_t zygote() const {
    const std::string list = "/proc/" + std::to_string(keeper->pid()) + "/task/" +
                             std::to_string(keeper->pid()) + "/children";
    std::ifstream children(list);
    for (pid_t pid = 0; children >> pid;) {
      std::string name;
      std::ifstream("/proc/" + std::to_string(pid) + "/comm") >> name;
      if (name == "cay-zygote") return pid;
    }
    return 0;
  }
  bool comes_to(bool there) const {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while ((zygote() > 0) != there) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  }
  // Whether the zygote started the command. Its children have two filters, others have one.
  bool by_zygote(const std::string& id) {
    const Output got = client->run(shell(id, "grep Seccomp_filters: /proc/self/status"));
    EXPECT_TRUE(got.out.ends_with("\t2\n") || got.out.ends_with("\t1\n")) << got.out << got.err;
    return got.out.ends_with("\t2\n");
  }

  std::unique_ptr<LocalSandbox> sandbox;
  std::unique_ptr<LocalKeeper> keeper;
  std::unique_ptr<Client> client;
};

TEST_F(ZygoteTest, StartsCommandsAndIsNotSeenInside) {
  ASSERT_TRUE(comes_to(true));
  EXPECT_TRUE(by_zygote("a"));
  const Output seen = client->run(shell("b", "cat /proc/[0-9]*/comm | sort | uniq -c"));
  EXPECT_EQ(seen.out.find("zygote"), std::string::npos) << seen.out;
  EXPECT_EQ(client->run(shell("c", "grep -c ':/$' /proc/self/cgroup")).out,
            client->run(shell("d", "grep -c . /proc/self/cgroup")).out);
  const wire::Frame stats = client->call(Type::kStats, wire::Empty{});
  EXPECT_EQ(wire::decode<wire::StatsMsg>(stats.payload).value().pids, 0U);
}

TEST_F(ZygoteTest, NothingOfItIsOpenInACommand) {
  ASSERT_TRUE(comes_to(true));
  ASSERT_TRUE(by_zygote("a"));
  EXPECT_EQ(client->run(command("b", {"/bin/sh", "-c", "exec ls /proc/self/fd"})).out,
            "0\n1\n2\n3\n");  // 3: ls reads the directory
}

TEST_F(ZygoteTest, WithoutItCommandsStartAsWell) {
  ASSERT_TRUE(comes_to(true));
  const pid_t first = zygote();
  ::kill(first, SIGKILL);
  EXPECT_EQ(client->run(shell("a", "echo hi; exit 3")).out, "hi\n");
  // A new one is made, though not at once.
  for (int i = 0; zygote() == first || zygote() == 0; ++i) {
    ASSERT_LT(i, 200);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    client->run(command("again" + std::to_string(i), {"true"}));
  }
  EXPECT_TRUE(by_zygote("b"));
}

TEST_F(ZygoteTest, AStoppedOneHoldsNothingUp) {
  ASSERT_TRUE(comes_to(true));
  ::kill(zygote(), SIGSTOP);
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_EQ(client->run(shell(id, "echo hi")).out, "hi\n");
  }
}

TEST_F(ZygoteTest, WhatDoesNotFitGoesTheOtherWay) {
  ASSERT_TRUE(comes_to(true));
  wire::StartCommand request = shell("long", "grep Seccomp_filters: /proc/self/status; echo ${#A}");
  request.env.push_back("A=" + std::string(100'000, 'x'));
  const Output got = client->run(request);
  EXPECT_EQ(got.out, "Seccomp_filters:\t1\n100000\n");
  std::vector<std::string> many = {"/bin/sh", "-c", "echo $#"};
  many.resize(2000, "w");
  EXPECT_EQ(client->run(command("many", many)).out, "1996\n");
  EXPECT_TRUE(by_zygote("short"));
}

TEST_F(ZygoteTest, FailuresAreToldAsByTheOtherWay) {
  ASSERT_TRUE(comes_to(true));
  wire::StartCommand request = command("a", {"/no/such"});
  EXPECT_EQ(error_of(client->call(Type::kStart, request)).reason, "command_not_found");
  request = command("b", {"/etc/passwd"});
  EXPECT_EQ(error_of(client->call(Type::kStart, request)).reason, "not_executable");
  request = command("c", {"true"});
  request.cwd = "/no/such";
  EXPECT_EQ(error_of(client->call(Type::kStart, request)).reason, "bad_cwd");
  request = command("d", {"true"});
  request.user = "nobody-such";
  EXPECT_EQ(error_of(client->call(Type::kStart, request)).reason, "bad_user");
  EXPECT_TRUE(by_zygote("e"));
}

TEST_F(ZygoteTest, ItEndsWhenNothingIsStartedAndWithTheKeeper) {
  begin(100);
  ASSERT_TRUE(comes_to(true));
  ASSERT_TRUE(comes_to(false));
  EXPECT_FALSE(by_zygote("a"));
  begin(100, true);  // until it is used
  ASSERT_TRUE(comes_to(true));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(by_zygote("b"));
  ASSERT_TRUE(comes_to(false));
  begin(kNever);
  ASSERT_TRUE(comes_to(true));
  const pid_t last = zygote();
  ::kill(keeper->pid(), SIGKILL);
  for (int i = 0; ::kill(last, 0) == 0 && i < 500; ++i) {
    std::ifstream stat("/proc/" + std::to_string(last) + "/stat");
    std::string text;
    std::getline(stat, text);
    if (text.find(") Z ") != std::string::npos) break;
    ASSERT_LT(i, 499);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace
}  // namespace cay::keeper::testing
