// The guardian's watch over a worker that may hang.
#include "launcher/pulse.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "os/unix_socket.h"

namespace cay::launcher {
namespace {

struct PulseTest : ::testing::Test {
  PulseTest() {
    auto pair = os::socket_pair();
    EXPECT_TRUE(pair);
    worker = std::move(pair->theirs);
    pulse.emplace(std::move(pair->ours));
  }
  UniqueFd worker;
  std::optional<Pulse> pulse;
};

TEST_F(PulseTest, OneThatIsNotYetUpMayTakeMoreTimeAndNotForEver) {
  for (int i = 1; i < Pulse::kPatienceAtFirst; ++i) EXPECT_TRUE(pulse->beat()) << i;
  EXPECT_FALSE(pulse->beat());
}

TEST_F(PulseTest, OneThatAnswersIsFineAndOneThatCeasesIsNot) {
  ASSERT_EQ(::send(worker.get(), "!", 1, 0), 1);
  for (int i = 0; i < 10 * Pulse::kPatience; ++i) {
    ASSERT_TRUE(pulse->beat()) << i;
    ASSERT_TRUE(answer_pulse(worker.get()));
  }
  int beats = 0;
  while (pulse->beat()) ASSERT_LT(++beats, 100);
  EXPECT_GE(beats, Pulse::kPatience - 1);
}

TEST_F(PulseTest, OneLateAnswerIsEnough) {
  ASSERT_EQ(::send(worker.get(), "!", 1, 0), 1);
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < Pulse::kPatience; ++i) ASSERT_TRUE(pulse->beat()) << round << " " << i;
    ASSERT_TRUE(answer_pulse(worker.get()));
  }
}

TEST_F(PulseTest, TheWorkerSeesItsGuardianGo) {
  EXPECT_TRUE(answer_pulse(worker.get()));
  pulse.reset();
  EXPECT_FALSE(answer_pulse(worker.get()));
}

}  // namespace
}  // namespace cay::launcher
