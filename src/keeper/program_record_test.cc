// The file of the program record: its bounds, and the notes about its own holes.
#include "keeper/program_record.h"

#include <gtest/gtest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/testing/temp_dir.h"

namespace cay::keeper {
namespace {

using wire::ProgramKind;
using wire::ProgramMsg;

class ProgramFileTest : public ::testing::Test {
 protected:
  ProgramFile open(std::uint64_t limit = 1 << 20) {
    auto file = ProgramFile::open(dir_.get(), limit);
    EXPECT_TRUE(file) << file.error().message;
    return std::move(*file);
  }
  std::string file() const { return temp_.path() + "/" + wire::kProgramFile; }
  std::vector<ProgramMsg> messages() const {
    std::ifstream in(file(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    EXPECT_TRUE(bytes.starts_with(wire::kProgramHead));
    auto read =
        wire::read_programs(std::string_view(bytes).substr(wire::kProgramHead.size()), SIZE_MAX);
    EXPECT_EQ(read.good + wire::kProgramHead.size(), bytes.size()) << "nothing but whole records";
    std::vector<ProgramMsg> out;
    for (auto& [at, message] : read.records) out.push_back(std::move(message));
    return out;
  }
  static ProgramMsg start(std::uint32_t pid) {
    ProgramMsg message;
    message.kind = static_cast<std::uint8_t>(ProgramKind::kStart);
    message.pid = pid;
    return message;
  }
  static ProgramKind kind(const ProgramMsg& message) {
    return static_cast<ProgramKind>(message.kind);
  }

  const cay::testing::TempDir temp_;
  const UniqueFd dir_ = temp_.open();
};

TEST_F(ProgramFileTest, ASecondLifeGoesOnBehindTheFirst) {
  {
    ProgramFile file = open();
    file.add(start(1));
    file.flush();
  }
  ProgramFile again = open();
  again.add(start(2));
  again.flush();
  const auto found = messages();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].pid, 2U);
}

TEST_F(ProgramFileTest, ATornTailIsCut) {
  {
    ProgramFile one = open();
    one.add(start(1));
    one.add(start(2));
    one.flush();
  }
  std::filesystem::resize_file(file(), std::filesystem::file_size(file()) - 3);
  ProgramFile again = open();
  again.add(start(3));
  again.flush();
  const auto found = messages();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].pid, 1U);
  EXPECT_EQ(found[1].pid, 3U);
}

TEST_F(ProgramFileTest, WhatIsNoRecordIsBegunAnew) {
  std::ofstream(file()) << "something else";
  ProgramFile one = open();
  one.add(start(1));
  one.flush();
  EXPECT_EQ(messages().size(), 1U);
}

TEST_F(ProgramFileTest, AtTheLimitItSaysSoAndEnds) {
  constexpr std::uint64_t kLimit = 16 * 1024;
  {
    ProgramFile file = open(kLimit);
    for (std::uint32_t pid = 1; pid <= 1000; ++pid) {
      file.add(start(pid));
      if (pid % 10 == 0) file.flush();
    }
    EXPECT_TRUE(file.full());
  }
  EXPECT_LE(std::filesystem::file_size(file()), kLimit);
  auto found = messages();
  EXPECT_EQ(kind(found.back()), ProgramKind::kFull);
  for (std::size_t i = 0; i + 1 < found.size(); ++i) EXPECT_EQ(found[i].pid, i + 1);
  const std::size_t before = found.size();
  ProgramFile again = open(kLimit);
  EXPECT_TRUE(again.full()) << "a full record stays full";
  again.add(start(1));
  again.flush();
  EXPECT_EQ(messages().size(), before);
}

TEST_F(ProgramFileTest, AGapStandsWhereItIs) {
  ProgramFile file = open();
  file.add(start(1));
  file.add_lost(5);
  file.add(start(2));
  file.add_lost(7);
  file.flush();
  const auto found = messages();
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found[1].lost, 5U);
  EXPECT_EQ(found[2].pid, 2U);
  EXPECT_EQ(found[3].lost, 7U);
}

TEST_F(ProgramFileTest, ALifeThatWasCutShortIsToldByTheNext) {
  {
    ProgramFile file = open();
    file.begin_life(1);
    file.add(start(1));
    file.flush();
  }  // killed
  {
    ProgramFile file = open();
    file.begin_life(2);
    file.add(start(2));
    file.close_life(3);
    file.add(start(3));  // the end of what was ending
    file.flush();
  }
  ProgramFile file = open();
  file.begin_life(4);
  std::vector<ProgramKind> kinds;
  for (const auto& message : messages()) kinds.push_back(kind(message));
  using enum ProgramKind;
  EXPECT_EQ(kinds, (std::vector<ProgramKind>{kLife, kStart, kLost, kLife, kStart, kClosed, kStart,
                                             kLife}));
  EXPECT_EQ(messages()[2].lost, 0U);
}

TEST_F(ProgramFileTest, ALifeOfAnOlderKeeperThatDidNotCloseIsNoLoss) {
  {
    ProgramFile file = open();
    ProgramMsg life = start(0);
    life.kind = static_cast<std::uint8_t>(ProgramKind::kLife);
    file.add(life);
    file.flush();
  }
  ProgramFile file = open();
  file.begin_life(2);
  EXPECT_EQ(messages().size(), 2U);
}

TEST_F(ProgramFileTest, WhatTheDiskDoesNotTakeIsCounted) {
  ProgramFile one = open();
  one.add(start(1));
  one.flush();
  ::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  rlimit small = before;
  small.rlim_cur = std::filesystem::file_size(file()) + 10;
  ::setrlimit(RLIMIT_FSIZE, &small);
  one.add(start(2));
  one.flush();
  one.add(start(3));
  one.add_lost(2);
  one.flush();
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(messages().size(), 1U);
  one.add(start(4));
  one.flush();
  const auto found = messages();
  ASSERT_EQ(found.size(), 3U);
  EXPECT_EQ(found[1].lost, 4U) << "two that were not written, two that the kernel had no room for";
  EXPECT_EQ(found[2].pid, 4U);
}

}  // namespace
}  // namespace cay::keeper
