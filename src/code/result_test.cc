#include "code/result.h"

#include <gtest/gtest.h>

namespace cay::code {
namespace {

constexpr std::uint64_t kMemory = 256 << 20;

RunResult ended(CommandState state, int exit_code = 0) {
  RunResult out;
  out.language = find_language("python");
  out.command.id = CommandId("c1");
  out.command.timeout_ms = 2500;
  out.command.end.state = state;
  out.command.end.exit_code = exit_code;
  return out;
}

TEST(ResultTest, OnlyAProgramThatExitedWithZeroIsOk) {
  EXPECT_TRUE(ended(CommandState::kExited).ok());
  EXPECT_FALSE(ended(CommandState::kExited, 1).ok());
  EXPECT_FALSE(ended(CommandState::kTimedOut).ok());
  RunResult compiled = ended(CommandState::kExited);
  compiled.phase = Phase::kCompile;
  EXPECT_FALSE(compiled.ok());
}

TEST(ResultTest, SilenceIsToldAndNoReasonIsGuessed) {
  const auto only = [](const RunResult& result) {
    const auto notes = notes_of(result, kMemory);
    return notes.size() == 1 ? notes.front() : std::to_string(notes.size());
  };
  EXPECT_EQ(only(ended(CommandState::kExited)),
            "the program exited with code 0 and wrote nothing to stdout or stderr. To see a value, "
            "print it with print()");
  EXPECT_EQ(only(ended(CommandState::kExited, 3)),
            "the program exited with code 3 and wrote nothing to stdout or stderr");
  EXPECT_EQ(notes_of(ended(CommandState::kTimedOut), kMemory).back(),
            "the program wrote nothing to stdout or stderr before the time limit ended it");
  EXPECT_EQ(only(ended(CommandState::kOomKilled)),
            "the program wrote nothing to stdout or stderr before it ran out of memory");
  RunResult printed = ended(CommandState::kExited);
  printed.output.err = "x";
  EXPECT_TRUE(notes_of(printed, kMemory).empty());
}

TEST(ResultTest, OutputThatIsNotHeldIsNoSilence) {
  RunResult result = ended(CommandState::kExited);
  result.output.out_gap = codec::KeptGap{};
  EXPECT_EQ(notes_of(result, kMemory),
            (std::vector<std::string>{
                "the output is longer than this result holds: command c1 has more of it"}));
}

TEST(ResultTest, AProgramThatDrewIsNotSilent) {
  RunResult drew = ended(CommandState::kExited);
  drew.artifacts.push_back({.name = "a.svg", .mime = "image/svg+xml", .bytes = "<svg/>"});
  EXPECT_TRUE(notes_of(drew, kMemory).empty());
  drew.command.end.exit_code = 3;
  EXPECT_EQ(notes_of(drew, kMemory).size(), 1U) << "a failure is told beside what it drew";
}

TEST(ResultTest, ALimitThatEndedItIsNamed) {
  RunResult result = ended(CommandState::kTimedOut);
  result.output.out = "x";
  EXPECT_EQ(notes_of(result, kMemory),
            (std::vector<std::string>{
                "the time limit of 2.500 s ended the program and all that it had started"}));
  result = ended(CommandState::kOomKilled);
  result.command.end.oom_kills = 1;
  EXPECT_EQ(notes_of(result, kMemory).front(),
            "the kernel ended 1 process of the program for want of memory: the sandbox has 256 "
            "MiB");
}

TEST(ResultTest, OutputIsKeptInBoundedMemory) {
  constexpr std::size_t kMost = 1000;
  OutputKeeper keeper(kMost);
  keeper.add(Stream::kStdout, 0, std::string(5000, 'a'));
  keeper.add(Stream::kStderr, 0, "error");
  const Output got = keeper.take();
  EXPECT_LE(got.out.size(), kMost);
  EXPECT_TRUE(got.out_gap);
  EXPECT_EQ(got.err, "error");
  EXPECT_FALSE(got.err_gap);
}

TEST(ResultTest, TheSuffixNamesTheType) {
  EXPECT_EQ(mime_of("plot-0001.png"), "image/png");
  EXPECT_EQ(mime_of("a.csv"), "text/csv");
  EXPECT_EQ(mime_of("png"), "application/octet-stream");
}

}  // namespace
}  // namespace cay::code
