#include "wire/program_record.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>

namespace cay::wire {
namespace {

constexpr std::size_t kFixed = offsetof(cay_program_event, text);

cay_program_event exec_event(std::string_view path, std::string_view args) {
  cay_program_event event{};
  event.kind = CAY_PROGRAM_EXEC;
  event.pid = 7;
  event.parent = 3;
  event.uid = 100'000 + 1000;
  event.started_ns = 5'000'000;
  event.at_ns = 6'000'000;
  event.path_size = static_cast<std::uint32_t>(path.size());
  event.text_size = static_cast<std::uint32_t>(path.size() + args.size());
  std::memcpy(event.text, path.data(), path.size());
  std::memcpy(event.text + path.size(), args.data(), args.size());
  return event;
}

TEST(ProgramRecordTest, AnExecKeepsEveryArgument) {
  using namespace std::string_view_literals;
  const auto event = exec_event("/bin/echo", "echo\0\0two words\0"sv);
  const auto got = program_of(event, kFixed + event.text_size, 100'000, 1'000'000);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->path, "/bin/echo");
  EXPECT_EQ(got->args, (std::vector<std::string>{"echo", "", "two words"}));
  EXPECT_EQ(got->pid, 7U);
  EXPECT_EQ(got->parent, 3U);
  EXPECT_EQ(got->uid, 1000U);
  EXPECT_EQ(got->started_us, 1'005'000);
  EXPECT_EQ(got->at_us, 1'006'000);
}

TEST(ProgramRecordTest, AnArgumentThatWasCutIsTheLast) {
  using namespace std::string_view_literals;
  auto event = exec_event("/bin/echo", "echo\0abc"sv);
  event.flags = CAY_PROGRAM_ARGS_CUT;
  const auto got = program_of(event, kFixed + event.text_size, 0, 0);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->args, (std::vector<std::string>{"echo", "abc"}));
  EXPECT_TRUE(got->args_cut);
}

TEST(ProgramRecordTest, TheEndIsTheKernelsWord) {
  cay_program_event event{};
  event.kind = CAY_PROGRAM_END;
  event.status = 3 << 8;
  auto got = program_of(event, kFixed, 0, 0);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->exit_code, 3);
  EXPECT_EQ(got->signal, 0);
  event.status = 11 | 0x80;
  event.flags = CAY_PROGRAM_OOM;
  got = program_of(event, kFixed, 0, 0);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->signal, 11);
  EXPECT_TRUE(got->core_dumped);
  EXPECT_TRUE(got->oom);
}

TEST(ProgramRecordTest, AnIdOutsideTheSandboxIsNobody) {
  cay_program_event event{};
  event.kind = CAY_PROGRAM_START;
  event.uid = 99'999;
  EXPECT_EQ(program_of(event, kFixed, 100'000, 0)->uid, 65'534U);
}

TEST(ProgramRecordTest, LengthsAreNotBelieved) {
  auto event = exec_event("/bin/echo", "echo");
  EXPECT_FALSE(program_of(event, kFixed - 1, 0, 0));
  EXPECT_FALSE(program_of(event, kFixed + event.text_size - 1, 0, 0));
  event.path_size = event.text_size + 1;
  EXPECT_FALSE(program_of(event, sizeof event, 0, 0));
  event.path_size = 0;
  event.text_size = sizeof event.text + 1;
  EXPECT_FALSE(program_of(event, sizeof event + 8, 0, 0));
  event.text_size = 0;
  event.kind = 9;
  EXPECT_FALSE(program_of(event, sizeof event, 0, 0));
}

std::string three() {
  std::string bytes;
  for (std::uint32_t pid = 1; pid <= 3; ++pid) {
    ProgramMsg message;
    message.kind = static_cast<std::uint8_t>(ProgramKind::kStart);
    message.pid = pid;
    append_program(bytes, message);
  }
  return bytes;
}

TEST(ProgramRecordTest, PagesGoOnWhereTheLastOneEnded) {
  const std::string bytes = three();
  const auto first = read_programs(bytes, 2);
  ASSERT_EQ(first.records.size(), 2U);
  EXPECT_EQ(first.records[1].second.pid, 2U);
  const auto rest = read_programs(std::string_view(bytes).substr(first.good), 2);
  ASSERT_EQ(rest.records.size(), 1U);
  EXPECT_EQ(rest.records[0].second.pid, 3U);
  EXPECT_EQ(first.good + rest.good, bytes.size());
  EXPECT_FALSE(rest.damaged);
}

TEST(ProgramRecordTest, ATornTailIsNoRecordAndNoDamage) {
  const std::string bytes = three();
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    const auto read = read_programs(std::string_view(bytes).substr(0, bytes.size() - cut), 10);
    EXPECT_LE(read.records.size(), 2U);
    EXPECT_FALSE(read.damaged);
  }
}

TEST(ProgramRecordTest, AChangedByteIsFound) {
  const std::string bytes = three();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x55);
    EXPECT_LT(read_programs(changed, 10).records.size(), 3U) << at;
  }
}

}  // namespace
}  // namespace cay::wire
