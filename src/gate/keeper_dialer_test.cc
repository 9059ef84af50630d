#include "gate/keeper_dialer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/testing/temp_dir.h"
#include "os/unix_socket.h"

namespace cay::gate {
namespace {

TEST(KeeperDialerTest, ConnectsToKeepersByTheirIdAndToNothingElse) {
  const cay::testing::TempDir temp;
  const UniqueFd directory = temp.open();
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
    // Any other name ends it: no gate sends that.
    EXPECT_FALSE(dialer.dial("../../../../../../../../../gate/gate"));
  }
  answering.join();
  EXPECT_FALSE(went_on);
}

// The loop moves every sandbox's bytes, so it does not wait for a silent dialler.
TEST(KeeperDialerTest, WhoDoesNotAnswerIsNotWaitedForAndMayAnswerLate) {
  const std::string id = "01234567-89ab-4def-8123-456789abcdef";
  auto pair = os::socket_pair();
  ASSERT_TRUE(pair);
  const KeeperDialer dialer(std::move(pair->theirs));
  const auto begun = std::chrono::steady_clock::now();
  const auto silence = dialer.dial(id);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(3));
  ASSERT_FALSE(silence);
  EXPECT_EQ(silence.error().os_errno, EAGAIN) << "who asked asks again";
  ASSERT_TRUE(os::send_message(pair->ours.get(), id, {pair->ours.get()}));
  EXPECT_TRUE(dialer.dial(id));
}

// A gate that was taken over and takes no answers must not keep the one that starts it from its
// signals.
TEST(KeeperDialerTest, WhoTakesNoAnswersIsGivenUp) {
  auto pair = os::socket_pair();
  ASSERT_TRUE(pair);
  ASSERT_EQ(::fcntl(pair->ours.get(), F_SETFL, O_NONBLOCK), 0);
  const UniqueFd nowhere(::open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_TRUE(answer_dial(pair->ours.get(), nowhere.get())) << "nothing was asked";
  bool given_up = false;
  for (int i = 0; i < 100'000 && !given_up; ++i) {
    ASSERT_TRUE(os::send_message(pair->theirs.get(), "01234567-89ab-4def-8123-456789abcdef"));
    given_up = !answer_dial(pair->ours.get(), nowhere.get());
  }
  EXPECT_TRUE(given_up);
}

}  // namespace
}  // namespace cay::gate
