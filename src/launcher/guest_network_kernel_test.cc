// The way out as the launcher makes it on this machine's kernel, and the reason where a kernel
// cannot make it.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>

#include "base/testing/temp_dir.h"
#include "launcher/gate_directory.h"
#include "launcher/guest_network.h"
#include "launcher/testing/launcher_test.h"
#include "wire/guest_network.h"

namespace cay::launcher::testing {
namespace {

using wire::Type;

int exit_status_of(const std::function<int()>& work) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(work());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class WayOutTest : public LauncherTest {
 protected:
  // A host that cannot make it, as init sees it.
  static Config without() {
    Config config;
    config.fail_step = "make the way out";
    return config;
  }
  static wire::CreateSandbox request(const std::string& id, const std::string& policy) {
    wire::CreateSandbox out = request_for(id);
    out.policy = policy;
    return out;
  }
  static wire::Created created(Client& client, const wire::CreateSandbox& request) {
    auto answer = client.ask(Type::kCreate, request);
    EXPECT_EQ(type_of(answer), Type::kCreated) << error_of(answer);
    return type_of(answer) == Type::kCreated ? *wire::decode<wire::Created>(answer->payload)
                                             : wire::Created{};
  }
  static bool lends(const RunningLauncher& launcher, const std::string& id) {
    return ::access((launcher.data + "/gate/" + id + ".sock").c_str(), F_OK) == 0;
  }
};

TEST_F(WayOutTest, IsMadeOrTheAnswerSaysWhyNot) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(700);
  const auto got = created(*client, request(id, "packages"));
  EXPECT_EQ(got.policy, "packages");
  EXPECT_EQ(lends(launcher, id), got.no_network.empty());
  if (!got.no_network.empty()) GTEST_SKIP() << "SKIPPED: " << got.no_network;
  EXPECT_NE(launcher.run(id, {"facts"}).find("etc_resolver=nameserver 192.0.0.1\n"),
            std::string::npos)
      << "an old snapshot's file is mended";
  ASSERT_EQ(type_of(client->ask(Type::kDestroy, wire::SandboxRef{id})), Type::kOk);
  EXPECT_FALSE(lends(launcher, id));
}

TEST_F(WayOutTest, OffHasNone) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(701);
  const auto got = created(*client, request(id, "off"));
  EXPECT_EQ(got.no_network, "");
  EXPECT_FALSE(lends(launcher, id));
  const std::string facts = launcher.run(id, {"facts"});
  EXPECT_NE(facts.find("loopback=ok\n"), std::string::npos) << facts;
  EXPECT_NE(facts.find("etc_resolver=nameserver 127.0.0.1\n"), std::string::npos)
      << "it is as the snapshot has it";
}

TEST_F(WayOutTest, AHostThatCannotMakesASandboxWithoutAndSaysSo) {
  RunningLauncher launcher(without());
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(702);
  const auto got = created(*client, request(id, "packages"));
  EXPECT_EQ(got.policy, "packages");
  EXPECT_NE(got.no_network.find("way out"), std::string::npos) << got.no_network;
  EXPECT_FALSE(lends(launcher, id)) << "nobody is to ask for sockets that are not there";
  EXPECT_NE(launcher.run(id, {"facts"}).find("loopback=ok\n"), std::string::npos);
  EXPECT_EQ(created(*client, request(id, "packages")).no_network, got.no_network)
      << "asked again, the answer is the same";
  // And so it is from another launcher, which knows it from the record alone.
  const pid_t before = launcher.worker();
  ASSERT_GT(before, 0);
  ASSERT_EQ(::kill(before, SIGKILL), 0);
  client = nullptr;
  for (int i = 0; i < 5000 && !client; ++i) {
    ::poll(nullptr, 0, 2);
    if (launcher.worker() != before) client = launcher.connect();
  }
  ASSERT_TRUE(client);
  const auto again = created(*client, request(id, "packages"));
  EXPECT_EQ(again.policy, "packages");
  EXPECT_EQ(again.no_network, got.no_network);
}

TEST_F(WayOutTest, WhoInsistsIsRefusedAndNothingIsLeft) {
  RunningLauncher launcher(without());
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  wire::CreateSandbox insisting = request(test_uuid(703), "open");
  insisting.network_required = true;
  auto answer = client->ask(Type::kCreate, insisting);
  ASSERT_EQ(type_of(answer), Type::kError);
  EXPECT_NE(error_of(answer).find("way out"), std::string::npos) << error_of(answer);
  for (const auto& [kind, names] : launcher.traces()) EXPECT_TRUE(names.empty()) << kind;
  EXPECT_FALSE(lends(launcher, insisting.sandbox_id));
}

// Returns the errno of a connection to 10.0.0.1 in a network namespace made by `plan`, or 0 if it
// is accepted.
int connect_to_special(const GuestNetwork& plan, int protocol) {
  return exit_status_of([&] {
    if (::unshare(CLONE_NEWNET) != 0 || !set_up_loopback()) return 255;
    const auto sockets = set_up_guest_network(plan);
    if (!sockets) return 254;
    const UniqueFd fd(::socket(AF_INET, protocol == IPPROTO_TCP ? SOCK_STREAM : SOCK_DGRAM, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(80);
    to.sin_addr.s_addr = htonl(0x0a000001);
    return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0 ? 0 : errno;
  });
}

TEST_F(WayOutTest, OfASpecialRangeTcpComesToTheGateAndTheRestIsRefused) {
  auto plan = plan_guest_network({});
  ASSERT_TRUE(plan);
  const int taken = connect_to_special(*plan, IPPROTO_TCP);
  if (taken == 254) GTEST_SKIP() << "SKIPPED: this kernel gives no way out";
  EXPECT_EQ(taken, 0);
  EXPECT_EQ(connect_to_special(*plan, IPPROTO_UDP), EACCES);
  // A kernel without such rules refuses at the first of them.
  plan->v4.rules.resize(plan->v4.rules.size() / 2);
  EXPECT_EQ(connect_to_special(*plan, IPPROTO_TCP), EACCES);
  EXPECT_EQ(connect_to_special(*plan, IPPROTO_UDP), EACCES);
}

// The batch without the rules that have an expression of that name.
std::string without_rules(std::string_view batch,
                          const std::vector<std::string_view>& expressions) {
  std::string out;
  while (batch.size() >= sizeof(nlmsghdr)) {
    nlmsghdr head{};
    std::memcpy(&head, batch.data(), sizeof head);
    const std::string_view one = batch.substr(0, NLMSG_ALIGN(head.nlmsg_len));
    batch.remove_prefix(one.size());
    const bool is_rule = head.nlmsg_type == (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWRULE);
    const bool has = std::ranges::any_of(expressions, [&](std::string_view name) {
      return one.find(std::string(name) + '\0') != std::string_view::npos;
    });
    if (!is_rule || !has) out += one;
  }
  return out;
}

// How many entries of connections `work` makes in a network namespace made by `filter`. Below zero:
// there is none.
int entries_made(const std::string& filter, const std::function<void()>& work) {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  const int failed = exit_status_of([&] {
    auto plan = plan_guest_network({});
    plan->filter = filter;
    if (::unshare(CLONE_NEWNET) != 0 || !set_up_loopback()) return 1;
    const auto sockets = set_up_guest_network(*plan);
    if (!sockets) return 2;
    work();
    int count = -1;
    std::ifstream("/proc/sys/net/netfilter/nf_conntrack_count") >> count;
    return ::write(ends[1], &count, sizeof count) == sizeof count ? 0 : 3;
  });
  int count = -failed;
  if (failed == 0 && ::read(ends[0], &count, sizeof count) != sizeof count) count = -4;
  ::close(ends[0]);
  ::close(ends[1]);
  return count;
}

// Empty datagrams from a few sockets, each to so many ports of the address.
void send_around(std::uint32_t address, int sockets, int ports, std::uint16_t first = 1000,
                 std::uint16_t from = 0) {
  for (int one = 0; one < sockets; ++one) {
    const UniqueFd fd(::socket(AF_INET, SOCK_DGRAM, 0));
    if (from != 0) {
      sockaddr_in own{};
      own.sin_family = AF_INET;
      own.sin_port = htons(from);
      own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) return;
    }
    for (int port = 0; port < ports; ++port) {
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(static_cast<std::uint16_t>(first == 53 ? 53 : first + port));
      to.sin_addr.s_addr =
          htonl(first == 53 ? address + static_cast<std::uint32_t>(port) : address);
      ::sendto(fd.get(), "", 0, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
  }
}

constexpr std::uint32_t kLoopback = 0x7f000001, kOwn = 0xc0000002, kOutside = 0x08080101;
constexpr int kAtOnce = 4096;         // guest_filter.cc
constexpr int kMostEntries = 19'456;  // ... of a minute

class TrackingTest : public WayOutTest {
 protected:
  void SetUp() override {
    WayOutTest::SetUp();
    if (IsSkipped()) return;
    if (entries_made(filter_, [] {}) < 0) GTEST_SKIP() << "SKIPPED: this kernel gives no way out";
  }
  const std::string filter_ = plan_guest_network({})->filter;
};

TEST_F(TrackingTest, WhatStaysInsideHasNoEntry) {
  for (const std::uint32_t address : {kLoopback, kOwn}) {
    const auto flood = [&] { send_around(address, 4, 5000); };
    EXPECT_EQ(entries_made(filter_, flood), 0);
    EXPECT_GE(entries_made(without_rules(filter_, {"notrack", "limit"}), flood), 4 * 5000)
        << "the control";
    EXPECT_LE(entries_made(without_rules(filter_, {"notrack"}), flood), kMostEntries)
        << "the bound holds them, too";
  }
}

TEST_F(TrackingTest, WhatIsRefusedHasNoEntry) {
  EXPECT_EQ(entries_made(filter_, [] { send_around(kOutside, 4, 5000); }), 0);
}

TEST_F(TrackingTest, WhatIsRedirectedHasAsManyAsTheBound) {
  const auto flood = [] { send_around(kOutside, 2, 20'000, 53); };
  const int held = entries_made(filter_, flood);
  EXPECT_GE(held, kAtOnce) << "it is tracked, or nothing would come to the gate";
  EXPECT_LE(held, kMostEntries);
  EXPECT_GE(entries_made(without_rules(filter_, {"limit"}), flood), 2 * 20'000) << "the control";
}

TEST_F(TrackingTest, WhatComesFromTheGatesPortIsWithinTheBound) {
  const auto flood = [] { send_around(kLoopback, 1, 40'000, 1000, wire::kGatePort); };
  EXPECT_LE(entries_made(filter_, flood), kMostEntries);
  EXPECT_GE(entries_made(without_rules(filter_, {"limit"}), flood), 40'000) << "the control";
}

TEST_F(TrackingTest, AnEntryOutlivesItsConnectionByAMinuteAtMost) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(704);
  if (!created(*client, request(id, "open")).no_network.empty())
    GTEST_SKIP() << "SKIPPED: no way out here";
  const std::string facts = launcher.run(id, {"facts"});
  for (const char* state : {"tcp_timeout_syn_sent", "tcp_timeout_fin_wait", "tcp_timeout_time_wait",
                            "udp_timeout_stream"}) {
    EXPECT_NE(facts.find(std::string(state) + "=60\n"), std::string::npos) << state << "\n"
                                                                           << facts;
  }
}

TEST_F(WayOutTest, TheGatesDirectoryGoesToWhoeverIsTheGateNow) {
  const cay::testing::TempDir temp;
  const std::string& path = temp.path();
  const UniqueFd data = temp.open();
  ASSERT_TRUE(open_gate_directory(data.get(), 61001, 61000));
  std::ofstream(path + "/gate/lock") << "";
  std::ofstream(path + "/gate/box.net") << "kept";
  ASSERT_TRUE(open_gate_directory(data.get(), 61001, 61000));
  EXPECT_EQ(::access((path + "/gate/lock").c_str(), F_OK), 0)
      << "the control: the same user keeps it";
  ASSERT_TRUE(open_gate_directory(data.get(), 61002, 61000));
  struct stat info{};
  ASSERT_EQ(::stat((path + "/gate").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, 61002U);
  EXPECT_EQ(info.st_gid, 61000U);
  EXPECT_EQ(info.st_mode & 07777, 02750U);
  EXPECT_NE(::access((path + "/gate/lock").c_str(), F_OK), 0);
  EXPECT_EQ(::access((path + "/gate/box.net").c_str(), F_OK), 0);
}

}  // namespace
}  // namespace cay::launcher::testing
