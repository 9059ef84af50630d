#include "api/daytona/toolbox/ends.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "api/daytona/toolbox/errors.h"

namespace cay::api::daytona {
namespace {

CommandEnd ended(CommandState state, int signal = 0, const char* by = "") {
  CommandEnd out;
  out.state = state;
  out.signal = signal;
  out.by = by;
  return out;
}
CommandEnd exited(int code) {
  CommandEnd out = ended(CommandState::kExited);
  out.exit_code = code;
  return out;
}
CommandEnd killed_by(const char* by) { return ended(CommandState::kKilled, SIGKILL, by); }

TEST(EndsTest, AProgramsOwnEndHasAnExitCode) {
  EXPECT_EQ(*exit_code_of(exited(3)), 3);
  EXPECT_EQ(*exit_code_of(ended(CommandState::kSignalled, SIGSEGV)), 139);
  EXPECT_EQ(*exit_code_of(ended(CommandState::kOomKilled, SIGKILL)), 137);
  EXPECT_EQ(*exit_code_of(killed_by("client")), 137);
}

TEST(EndsTest, AnEndByOthersIsAnError) {
  const struct {
    CommandEnd end;
    VendorCode word;
  } all[] = {
      {killed_by("sandbox stop"), kSandboxStopped},
      {killed_by("sandbox removal"), kSandboxStopped},
      {ended(CommandState::kLost), kCommandLost},
      {ended(CommandState::kTimedOut, SIGKILL), kExecutionTimeout},
  };
  for (const auto& one : all) {
    const auto got = exit_code_of(one.end);
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().reason, one.word.word);
    const Refusal refusal = toolbox_refusal(got.error());
    EXPECT_EQ(refusal.status, one.word.status);
    EXPECT_EQ(refusal.code, one.word.word);
  }
}

TEST(EndsTest, ACommandOfASessionHasNoInventedCode) {
  Evaluation one;
  EXPECT_FALSE(exit_code_of(one)->has_value());
  one.state = EvaluationState::kError;
  one.exit_code = 5;
  EXPECT_EQ(*exit_code_of(one), 5);
  Evaluation lost;
  lost.state = EvaluationState::kLost;
  EXPECT_EQ(exit_code_of(lost).error().reason, kOutputDropped.word);
  Evaluation with_driver = lost;
  with_driver.driver = Command{};
  with_driver.driver->end = killed_by("sandbox stop");
  EXPECT_EQ(exit_code_of(with_driver).error().reason, kSandboxStopped.word);
  with_driver.driver->end = killed_by("client");
  EXPECT_EQ(exit_code_of(with_driver).error().reason, kSessionEnded.word);
  with_driver.driver->end = exited(4);
  EXPECT_EQ(*exit_code_of(with_driver), 4);
  with_driver.begun = false;
  EXPECT_EQ(exit_code_of(with_driver).error().reason, kNeverRan.word);
}

}  // namespace
}  // namespace cay::api::daytona
