#include "runtime/native/helper_state.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <vector>

#include "base/testing/temp_dir.h"
#include "os/unix_socket.h"

namespace cay::runtime {
namespace {

// A gate whose backlog is full is at work and not down.
TEST(HelperStateTest, AFullBacklogIsAnAnswerAndNobodyIsNone) {
  const cay::testing::TempDir temp;
  const std::string& data = temp.path();
  std::filesystem::create_directories(data + "/gate");
  EXPECT_FALSE(gate_serves(data)) << "there is none";
  const UniqueFd directory(::open((data + "/gate").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  {
    const auto gate = os::listen_unix(directory.get(), "gate.sock", ::geteuid(), ::getegid());
    ASSERT_TRUE(gate);
    EXPECT_TRUE(gate_serves(data));
    ASSERT_EQ(::listen(gate->get(), 0), 0);
    std::vector<UniqueFd> waiting;
    int err = 0;
    while (err == 0 && waiting.size() < 16) {
      auto one = os::connect_unix(data + "/gate/gate.sock", SOCK_NONBLOCK);
      if (one)
        waiting.push_back(*std::move(one));
      else
        err = one.error().os_errno;
    }
    ASSERT_EQ(err, EAGAIN);
    EXPECT_TRUE(gate_serves(data));
    EXPECT_TRUE(gate_feature(data, "").found.starts_with("serves"));
  }
  EXPECT_FALSE(gate_serves(data)) << "its socket's name is left, and nobody listens";
  EXPECT_TRUE(gate_feature(data, "").found.starts_with("does not answer"));
}

TEST(HelperStateTest, TheVaultsBrokerIsToldOfByWhatItShows) {
  const cay::testing::TempDir temp;
  const std::string& data = temp.path();
  std::filesystem::create_directories(data + "/vault");
  EXPECT_FALSE(broker_serves(data));
  EXPECT_FALSE(vault_feature(data).ok);
  std::ofstream(data + "/vault/refused") << "the vault's keys cannot be opened: by nothing\nmore\n";
  EXPECT_EQ(vault_feature(data).found,
            "the vault's keys cannot be opened: by nothing (vault_locked)");
  std::ofstream(data + "/vault/refused") << "\033[2J\n";
  EXPECT_TRUE(vault_feature(data).found.starts_with("its broker does not answer"))
      << "what it leaves is another user's";
  std::ofstream(data + "/vault/refused") << "of yesterday\n";
  const UniqueFd directory(::open((data + "/vault").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const auto broker = os::listen_unix(directory.get(), "daemon.sock", ::geteuid(), ::getegid());
  ASSERT_TRUE(broker);
  EXPECT_TRUE(broker_serves(data));
  EXPECT_EQ(vault_feature(data).found, "serves");
  std::ofstream(data + "/vault/landlock") << "6\n";
  EXPECT_TRUE(vault_feature(data).found.ends_with("Landlock (ABI 6)"));
}

}  // namespace
}  // namespace cay::runtime
