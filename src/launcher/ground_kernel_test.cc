// Groundwork that is made ahead, on this machine's kernel: who uses it, and that it leaves nothing.
// Its slot identifies it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <memory>
#include <set>
#include <string>

#include "launcher/testing/launcher_test.h"

namespace cay::launcher::testing {
namespace {

using wire::Type;
using Numbers = std::set<std::uint32_t>;

std::string comm_of(const std::string& pid) {
  std::ifstream in("/proc/" + pid + "/comm");
  std::string name;
  std::getline(in, name);
  return name;
}

class GroundTest : public LauncherTest {
 protected:
  void SetUp() override {
    LauncherTest::SetUp();
    if (IsSkipped()) return;
    Config config;
    config.runtime_dir = runtime_.path() + "/run";
    launcher_ = std::make_unique<RunningLauncher>(config);
    launcher_->end();
    launcher_->set_ground_ahead();
    launcher_->start();
    ASSERT_TRUE(launcher_->is_ready);
    client_ = launcher_->connect();
    ASSERT_TRUE(client_);
  }

  // Makes a sandbox, and returns its slot.
  std::uint32_t create(unsigned number, std::uint64_t memory_bytes = std::uint64_t{64} << 20) {
    auto request = request_for(test_uuid(number));
    request.memory_bytes = memory_bytes;
    const auto created = client_->ask(Type::kCreate, request);
    EXPECT_EQ(type_of(created), Type::kCreated) << error_of(created);
    if (type_of(created) != Type::kCreated) return 0;
    const auto keeper = wire::decode<wire::Created>(created->payload)->keeper_pid;
    std::ifstream status("/proc/" + std::to_string(keeper) + "/status");
    for (std::string word; status >> word;) {
      uid_t uid = 0;
      if (word == "Uid:" && status >> uid) return uid - kKeeperBase;
    }
    return 0;
  }

  Numbers locked() const {
    Numbers found;
    const UniqueFd fd(::open((runtime_.path() + "/run/slots/locks").c_str(), O_RDWR | O_CLOEXEC));
    for (std::uint32_t number = 0; fd && number < 64; ++number) {
      struct flock lock{};
      lock.l_type = F_WRLCK;
      lock.l_whence = SEEK_SET;
      lock.l_start = number;
      lock.l_len = 1;
      if (::fcntl(fd.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK)
        found.insert(number);
    }
    return found;
  }

  bool at_work() const {
    const std::string worker = std::to_string(launcher_->worker());
    std::ifstream children("/proc/" + worker + "/task/" + worker + "/children");
    for (std::string pid; children >> pid;) {
      if (comm_of(pid) == "cay-ground") return true;
    }
    return false;
  }

  // Waits for the groundwork of the next sandbox, and returns its slot. `others` are those of
  // sandboxes.
  std::uint32_t spare(const Numbers& others) {
    const auto begin = std::chrono::steady_clock::now();
    while (millis_since(begin) < 10'000) {
      Numbers slots = locked();
      for (const std::uint32_t other : others) slots.erase(other);
      if (slots.size() == 1 && !at_work()) {
        ::usleep(20'000);  // the launcher notices its end
        return *slots.begin();
      }
      ::usleep(1'000);
    }
    ADD_FAILURE() << "no groundwork was made";
    return 0;
  }

  void expect_works(unsigned number) {
    const std::string facts = launcher_->run(test_uuid(number), {"facts"});
    for (const char* word : {"exit 0", "hostname=box\n", "null=1:3\n", "keys=\n",
                             "pid1_cmdline=cay-init\n", "write_sysctl=Read-only file system\n",
                             " /sys /sys ro,", "write_tmp=ok\n", "ptmx=ok\n", "loopback=ok\n"}) {
      EXPECT_NE(facts.find(word), std::string::npos) << word << facts;
    }
    EXPECT_EQ(facts.find(launcher_->data), std::string::npos) << "a path of the host";
  }

  void remove(unsigned number) {
    ASSERT_EQ(type_of(client_->ask(Type::kDestroy, wire::SandboxRef{test_uuid(number)})),
              Type::kOk);
  }

  // After the launcher's end. One that was at work on the next groundwork ends with it.
  void expect_nothing_left_soon() {
    const auto begin = std::chrono::steady_clock::now();
    while (!(launcher_->traces()["process"].empty() && locked().empty()) &&
           millis_since(begin) < 10'000) {
      ::usleep(1'000);
    }
    EXPECT_TRUE(locked().empty());
    expect_nothing_left(*launcher_);
  }

  const cay::testing::TempDir runtime_{0711};
  std::unique_ptr<RunningLauncher> launcher_;
  std::unique_ptr<Client> client_;
};

TEST_F(GroundTest, TheNextSandboxOfItsKindUsesItAndNobodyElse) {
  const std::uint32_t first = create(1);
  const std::uint32_t ahead = spare({first});
  EXPECT_EQ(create(2), ahead);
  expect_works(2);
  const std::uint32_t next = spare({first, ahead});
  EXPECT_EQ(create(3), next);
  expect_works(1);
  expect_works(3);
  for (const unsigned number : {1U, 2U, 3U}) remove(number);
  launcher_->end();
  expect_nothing_left_soon();
}

TEST_F(GroundTest, AnotherKindMakesItsOwn) {
  const std::uint32_t first = create(1);
  const std::uint32_t ahead = spare({first});
  const std::uint32_t second = create(2, std::uint64_t{128} << 20);
  EXPECT_NE(second, ahead);
  expect_works(2);
  const std::uint32_t next = spare({first, second});
  EXPECT_NE(next, ahead) << "given up for one of the new kind";
  EXPECT_EQ(create(3, std::uint64_t{128} << 20), next);
  expect_works(3);
  for (const unsigned number : {1U, 2U, 3U}) remove(number);
}

TEST_F(GroundTest, AWakeUsesItAndKeepsDiskAndSpool) {
  create(1);
  expect_works(1);
  ASSERT_EQ(type_of(client_->ask(Type::kStop, wire::SandboxRef{test_uuid(1)})), Type::kOk);
  const std::uint32_t ahead = spare({});
  EXPECT_EQ(create(1), ahead);
  const std::string facts = launcher_->run(test_uuid(1), {"facts"});
  EXPECT_NE(facts.find("made-inside"), std::string::npos) << "the disk was kept: " << facts;
  struct stat spool{};
  ASSERT_EQ(::stat((launcher_->data + "/spool/" + test_uuid(1)).c_str(), &spool), 0);
  EXPECT_EQ(spool.st_uid, kKeeperBase + ahead) << "the spool is its new keeper's";
  remove(1);
}

TEST_F(GroundTest, AKilledWorkerLeavesNothingOfIt) {
  const std::uint32_t first = create(1);
  const std::uint32_t ahead = spare({first});
  EXPECT_EQ(launcher_->traces()["process"].size(), 2U) << "keeper and init: nobody waits in it";
  const auto traces = launcher_->traces();
  for (const std::string& group : traces.at("cgroup"))
    EXPECT_EQ(group, test_uuid(1)) << "no group was made ahead";
  ASSERT_EQ(::kill(launcher_->worker(), SIGKILL), 0);
  const auto begin = std::chrono::steady_clock::now();
  while (locked() != Numbers{first} && millis_since(begin) < 10'000) ::usleep(1'000);
  EXPECT_EQ(locked(), Numbers{first}) << "its slot " << ahead << " is free";
  client_ = launcher_->connect();
  ASSERT_TRUE(client_);
  expect_works(1);
  create(2);
  expect_works(2);
  remove(1);
  remove(2);
  launcher_->end();
  expect_nothing_left_soon();
}

}  // namespace
}  // namespace cay::launcher::testing
