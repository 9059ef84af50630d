#include "gate/keeper_dialer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "os/file.h"
#include "os/unix_socket.h"

namespace cay::gate {
namespace {

TEST(KeeperDialerTest, ConnectsToKeepersByTheirIdAndToNothingElse) {
  char path[] = "/tmp/cay-dialer-XXXXXX";
  const std::string name = ::mkdtemp(path);
  const UniqueFd directory(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  const std::string id = "01234567-89ab-4def-8123-456789abcdef";
  const auto keeper = os::listen_unix(directory.get(), id + ".sock", ::geteuid(), ::getegid());
  ASSERT_TRUE(keeper);
  const auto outside = os::listen_unix(directory.get(), "gate.sock", ::geteuid(), ::getegid());
  ASSERT_TRUE(outside);
  auto pair = os::socket_pair();
  ASSERT_TRUE(pair);
  bool went_on = true;
  std::thread answering([&] {
    while (answer_dial(pair->ours.get(), directory.get())) {
    }
    went_on = false;
    pair->ours = UniqueFd();
  });
  {
    const KeeperDialer dialer(std::move(pair->theirs));
    EXPECT_TRUE(dialer.dial(id));
    const auto missing = dialer.dial("99999999-89ab-4def-8123-456789abcdef");
    EXPECT_EQ(missing.error().os_errno, ENOENT);
    EXPECT_TRUE(dialer.dial(id)) << "one that is not there ends nothing";
    // Any other name ends it: who asks for that is no gate.
    EXPECT_FALSE(dialer.dial("../../../../../../../../../gate/gate"));
  }
  answering.join();
  EXPECT_FALSE(went_on);
  EXPECT_TRUE(os::remove_tree(AT_FDCWD, name));
}

}  // namespace
}  // namespace cay::gate
