// A sandbox's own things on this machine's kernel, and the limits of what it can do inside.
#include <gtest/gtest.h>
#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <set>

#include "launcher/testing/launcher_test.h"

namespace cay::launcher::testing {
namespace {

using wire::Type;

std::string fact(const std::string& facts, const std::string& name) {
  const std::size_t at = facts.find("\n" + name + "=");
  if (at == std::string::npos) return "";
  const std::size_t from = at + name.size() + 2;
  return facts.substr(from, facts.find('\n', from) - from);
}

std::string line_of(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

TEST_F(LauncherTest, ClocksBootAndKeyringAreTheSandboxsOwn) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const auto begin = std::chrono::steady_clock::now();
  std::string facts[2];
  for (unsigned i = 0; i < 2; ++i) {
    ASSERT_EQ(type_of(client->ask(Type::kCreate, request_for(test_uuid(70 + i)))), Type::kCreated);
    facts[i] = launcher.run(test_uuid(70 + i), {"facts"});
  }
  const double lived = millis_since(begin) / 1000 + 0.02;
  const std::string again = launcher.run(test_uuid(70), {"facts"});
  const std::string own_keyring =
      std::to_string(::syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0));
  char host_clocks[64] = {};
  const bool time_namespaces =
      ::readlink("/proc/self/ns/time", host_clocks, sizeof host_clocks - 1) > 0;
  const std::pair<const char*, std::string> kinds[] = {
      {"boot_id", line_of("/proc/sys/kernel/random/boot_id")},
      {"session_keyring", own_keyring},
      {"clocks_namespace", host_clocks}};
  for (const auto& [name, host] : kinds) {
    if (host == "-1" || host.empty()) continue;  // this kernel has none
    EXPECT_EQ(std::set<std::string>({fact(facts[0], name), fact(facts[1], name), host, ""}).size(),
              4U)
        << name << facts[0];
    EXPECT_EQ(fact(again, name), fact(facts[0], name)) << "one for all in it";
  }
  if (!time_namespaces) return;
  EXPECT_LE(std::stod(fact(facts[0], "uptime")), lived) << "counts from the sandbox's start";
  EXPECT_GT(std::stod(line_of("/proc/uptime")), lived) << "control: the host's is more";
}

TEST_F(LauncherTest, LimitsHold) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(2);
  ASSERT_EQ(type_of(client->ask(Type::kCreate, request_for(id))), Type::kCreated);
  EXPECT_NE(launcher.run(id, {"eat", "16"}).find("ate=all"), std::string::npos) << "control";
  EXPECT_EQ(launcher.run(id, {"eat", "200"}).find("ate=all"), std::string::npos) << "memory";
  EXPECT_NE(launcher.run(id, {"fill", "/small", "8"}).find("filled=ok"), std::string::npos)
      << "control";
  const std::string big = launcher.run(id, {"fill", "/big", "100"});
  EXPECT_NE(big.find("filled=Disk quota exceeded"), std::string::npos) << big;
  EXPECT_NE(launcher.run(id, {"fill", "/small", "16"}).find("filled=ok"), std::string::npos)
      << "freed space is usable";
  EXPECT_NE(launcher.run(id, {"facts"}).find("exit 0"), std::string::npos)
      << "the sandbox survived both";
}

TEST_F(LauncherTest, InitCannotBeTouchedFromInside) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  const std::string id = test_uuid(3);
  ASSERT_EQ(type_of(client->ask(Type::kCreate, request_for(id))), Type::kCreated);
  const std::string out = launcher.run(id, {"attack-init"});
  EXPECT_NE(out.find("control_ptrace=ok\n"), std::string::npos) << out;
  for (const char* what : {"ptrace", "prlimit", "ptrace_as_65534", "prlimit_as_65534",
                           "ptrace_as_65535", "prlimit_as_65535", "nice"}) {
    const std::string line = std::string("\n") + what + "=";
    EXPECT_NE(out.find(line), std::string::npos) << what << " was not tried: " << out;
    EXPECT_EQ(out.find(line + "ok"), std::string::npos) << what << ": " << out;
  }
  for (const char* what : {"mem", "environ", "exe", "fd"}) {
    EXPECT_NE(out.find(std::string("\n") + what + "=Permission denied"), std::string::npos)
        << what << out;
  }
  EXPECT_NE(launcher.run(id, {"facts"}).find("exit 0"), std::string::npos) << "init lives";
}

// The keeper's double loads no filter of system calls: this is the wall behind it.
TEST_F(LauncherTest, NoNamespacesAreMadeInsideByTheKernelsOwnCount) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  unsigned number = 60;
  for (const char* profile : {"", "default", "strict"}) {
    auto request = request_for(test_uuid(++number));
    request.profile = profile;
    const auto created = client->ask(Type::kCreate, request);
    ASSERT_EQ(type_of(created), Type::kCreated) << error_of(created);
    EXPECT_EQ(wire::decode<wire::Created>(created->payload)->profile,
              *profile != 0 ? profile : "default");
    const std::string told = launcher.run(request.sandbox_id, {"namespaces"});
    EXPECT_NE(told.find("users=No space left on device\n"), std::string::npos) << profile << told;
    EXPECT_NE(told.find("own_tmpfs=No space left on device\n"), std::string::npos)
        << profile << told;
    EXPECT_NE(told.find("mount_namespaces=-1\n"), std::string::npos) << profile << told;
    EXPECT_NE(told.find("hidden=!No such file"), std::string::npos)
        << "nested alone has it: " << told;
    ASSERT_EQ(type_of(client->ask(Type::kDestroy, wire::SandboxRef{request.sandbox_id})),
              Type::kOk);
  }
}

// The keeper's double loads no filter of system calls here, either.
TEST_F(LauncherTest, PathRulesHoldForRootInside) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  auto request = request_for(test_uuid(75));
  ASSERT_EQ(type_of(client->ask(Type::kCreate, request)), Type::kCreated);
  const auto run = [&](std::vector<std::string> words) {
    return launcher.run(request.sandbox_id, words);
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  ASSERT_TRUE(has(run({"put", "/secret", "canary"}), "put=ok"));
  ASSERT_TRUE(has(run({"put", "/etc/fixed", "first"}), "put=ok"));
  EXPECT_TRUE(has(run({"get", "/secret"}), "got=canary")) << "the control";
  EXPECT_TRUE(has(run({"replace", "/etc/fixed", "second"}), "replaced=ok")) << "the control";
  const auto boot = [&](std::vector<std::string> read_only, std::vector<std::string> hidden) {
    EXPECT_EQ(type_of(client->ask(Type::kStop, wire::SandboxRef{request.sandbox_id})), Type::kOk);
    request.read_only_paths = std::move(read_only);
    request.hidden_paths = std::move(hidden);
    const auto made = client->ask(Type::kCreate, request);
    return type_of(made) == Type::kCreated ? std::string() : error_of(made);
  };
  ASSERT_EQ(boot({"/etc/fixed"}, {"/secret", "/not/there"}), "");
  EXPECT_TRUE(has(run({"get", "/secret"}), "got=!Permission denied"));
  EXPECT_TRUE(has(run({"unlink", "/secret"}), "unlinked=Device or resource busy"));
  EXPECT_TRUE(has(run({"put", "/not/there/file", "x"}), "put=Read-only file system"));
  EXPECT_TRUE(has(run({"put", "/etc/fixed", "third"}), "put=Read-only file system"));
  EXPECT_TRUE(has(run({"replace", "/etc/fixed", "third"}), "replaced=Device or resource busy"));
  EXPECT_TRUE(has(run({"get", "/etc/fixed"}), "got=second"));
  EXPECT_TRUE(has(run({"trap"}), "unlink_dev=Device or resource busy")) << "/etc keeps its name";
  EXPECT_TRUE(has(boot({"/no/such"}, {}), "path_missing"));
  EXPECT_TRUE(has(boot({"/secret/below"}, {}), "invalid_paths"));
  ASSERT_EQ(boot({}, {}), "");
  EXPECT_TRUE(has(run({"get", "/secret"}), "got=canary")) << "the disk beneath is as it was";
  EXPECT_TRUE(has(run({"link", "/etc/fixed", "/pointer"}), "linked=ok"));
  EXPECT_TRUE(has(boot({}, {"/pointer"}), "invalid_paths")) << "no link is followed";
  request.profile = "nested";
  EXPECT_NE(boot({}, {"/secret"}), "") << "containers would move it";
}

TEST_F(LauncherTest, NestedMakesContainersAndTakesOffNoCover) {
  RunningLauncher launcher;
  auto client = launcher.connect();
  ASSERT_TRUE(client);
  auto request = request_for(test_uuid(70));
  request.profile = "nested";
  request.nested_networks = true;
  const auto created = client->ask(Type::kCreate, request);
  ASSERT_EQ(type_of(created), Type::kCreated) << error_of(created);
  EXPECT_EQ(wire::decode<wire::Created>(created->payload)->profile, "nested");
  EXPECT_TRUE(wire::decode<wire::Created>(created->payload)->knows_networks);
  const std::string told = launcher.run(request.sandbox_id, {"namespaces"});
  for (const char* works : {"users=ok\n", "own_proc=ok\n", "own_tmpfs=ok\n"})
    EXPECT_NE(told.find(works), std::string::npos) << works << told;
  for (const char* cover : {"/proc", "/proc/keys", "/proc/sys", "/dev/.nested"}) {
    EXPECT_NE(told.find(std::string("uncover:") + cover + "=Invalid argument\n"), std::string::npos)
        << "locked by the kernel: " << cover << told;
  }
  EXPECT_NE(told.find("own_sysfs=Operation not permitted\n"), std::string::npos) << told;
  EXPECT_EQ(told.find("write_sysctl=ok"), std::string::npos) << told;
  EXPECT_NE(told.find("write_own_sysctl=Permission denied\n"), std::string::npos) << told;
  EXPECT_EQ(told.find("sysrq=ok"), std::string::npos) << told;  // a kernel may have none
  EXPECT_NE(told.find("hidden=\n"), std::string::npos)
      << "no path leads to what is below: " << told;
  EXPECT_NE(told.find("mount_namespaces=256\n"), std::string::npos) << "bounded: " << told;
  const std::string facts = launcher.run(request.sandbox_id, {"facts"});
  EXPECT_NE(facts.find("keys=\n"), std::string::npos)
      << "its own /proc is masked as ever: " << facts;

  // Without the operator's setting it has no networks of its own.
  request.sandbox_id = test_uuid(72);
  request.nested_networks = false;
  ASSERT_EQ(type_of(client->ask(Type::kCreate, request)), Type::kCreated);
  const std::string without = launcher.run(request.sandbox_id, {"namespaces"});
  for (const char* works : {"users=ok\n", "own_proc=ok\n", "own_tmpfs=ok\n"})
    EXPECT_NE(without.find(works), std::string::npos) << works << without;
  EXPECT_NE(told.find("own_network=ok\n"), std::string::npos) << "the control: " << told;
  EXPECT_NE(without.find("own_network=No space left on device\n"), std::string::npos) << without;

  request.sandbox_id = test_uuid(71);
  request.profile = "wider";
  EXPECT_NE(error_of(client->ask(Type::kCreate, request)).find("profile_unsupported"),
            std::string::npos);
}

}  // namespace
}  // namespace cay::launcher::testing
