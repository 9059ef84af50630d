#include "runtime/native/program_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "base/testing/temp_dir.h"
#include "wire/program_record.h"

namespace cay::runtime {
namespace {

const SandboxId kBox("0b4c1c2e-5f7a-4d53-9d0e-6a1f2b3c4d5e");

class ProgramReaderTest : public ::testing::Test {
 protected:
  ProgramReaderTest() { std::filesystem::create_directory(spool_ + "/" + kBox.get()); }

  std::string path() const { return spool_ + "/" + kBox.get() + "/" + wire::kProgramFile; }
  void write(const std::string& bytes) { std::ofstream(path(), std::ios::binary) << bytes; }

  static std::string record(std::uint32_t count) {
    std::string bytes(wire::kProgramHead);
    for (std::uint32_t pid = 1; pid <= count; ++pid) {
      wire::ProgramMsg message;
      message.kind = static_cast<std::uint8_t>(wire::ProgramKind::kStart);
      message.pid = pid;
      wire::append_program(bytes, message);
    }
    return bytes;
  }

  const cay::testing::TempDir temp_;
  const std::string& spool_ = temp_.path();
};

TEST_F(ProgramReaderTest, PagesCoverEveryRecordOnce) {
  write(record(10));
  std::uint32_t seen = 0;
  for (std::uint64_t offset = 0;;) {
    const auto page = read_programs(spool_, kBox, offset, 3);
    ASSERT_TRUE(page) << page.error().message;
    if (page->items.empty()) break;
    for (const auto& item : page->items) EXPECT_EQ(item.pid, ++seen);
    offset = page->next_offset;
  }
  EXPECT_EQ(seen, 10U);
}

TEST_F(ProgramReaderTest, NothingThereYetIsAnEmptyPage) {
  const auto page = read_programs(spool_, kBox, 0, 10);
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->items.empty());
  write(record(1));
  EXPECT_EQ(read_programs(spool_, kBox, page->next_offset, 10)->items.size(), 1U);
}

TEST_F(ProgramReaderTest, AnOffsetInsideARecordIsRefused) {
  write(record(3));
  const auto page = read_programs(spool_, kBox, 9, 10);
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().reason, "bad_offset");
  EXPECT_EQ(read_programs(spool_, kBox, UINT64_MAX, 10).error().reason, "bad_offset");
}

TEST_F(ProgramReaderTest, ALinkIsNotFollowed) {
  std::filesystem::create_symlink("/etc/passwd", path());
  EXPECT_FALSE(read_programs(spool_, kBox, 0, 10));
  std::filesystem::remove(path());
  write(record(1));
  std::filesystem::create_hard_link(path(), spool_ + "/other");
  EXPECT_FALSE(read_programs(spool_, kBox, 0, 10));
}

}  // namespace
}  // namespace cay::runtime
