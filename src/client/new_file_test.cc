#include "client/new_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/testing/temp_dir.h"

namespace cay::client {
namespace {

namespace fs = std::filesystem;

using Create = Result<NewFile> (*)(int dir, std::string shown);

// As a file system makes it that has files without a name, and as one that has none.
struct NewFileTest : ::testing::TestWithParam<Create> {
  const cay::testing::TempDir temp;
  const fs::path root = temp.path();
  const UniqueFd dir{::open(temp.path().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)};

  NewFile made() const {
    auto file = GetParam()(dir.get(), "name");
    EXPECT_TRUE(file) << file.error().message;
    EXPECT_EQ(::write(file->fd(), "new", 3), 3);
    return *std::move(file);
  }
  std::string read(const fs::path& path) const {
    std::ifstream file(root / path);
    std::ostringstream out;
    out << file.rdbuf();
    return out.str();
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(root), fs::directory_iterator()));
  }
};

INSTANTIATE_TEST_SUITE_P(Both, NewFileTest,
                         ::testing::Values(&NewFile::create, &NewFile::create_hidden));

TEST_P(NewFileTest, HasItsNameWhenItIsWhole) {
  NewFile file = made();
  EXPECT_FALSE(fs::exists(root / "name"));
  ASSERT_TRUE(file.commit("name"));
  EXPECT_EQ(read("name"), "new");
  EXPECT_EQ(entries(), 1u);
}

TEST_P(NewFileTest, WhatBreaksOffLeavesNothingAndTheOldFile) {
  std::ofstream(root / "name") << "old";
  {
    const NewFile file = made();
  }
  EXPECT_EQ(read("name"), "old");
  EXPECT_EQ(entries(), 1u);
}

TEST_P(NewFileTest, ReplacesAFile) {
  std::ofstream(root / "name") << "old";
  ASSERT_TRUE(made().commit("name"));
  EXPECT_EQ(read("name"), "new");
  EXPECT_EQ(entries(), 1u);
}

TEST_P(NewFileTest, ReplacesALinkAndNotWhatItLeadsTo) {
  std::ofstream(root / "bait") << "kept";
  fs::create_symlink("bait", root / "name");
  ASSERT_TRUE(made().commit("name"));
  EXPECT_FALSE(fs::is_symlink(root / "name"));
  EXPECT_EQ(read("name"), "new");
  EXPECT_EQ(read("bait"), "kept");
}

TEST_P(NewFileTest, NoDirectoryIsReplaced) {
  fs::create_directory(root / "name");
  auto done = made().commit("name");
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().reason, "is_a_directory");
  EXPECT_EQ(entries(), 1u);
}

TEST(NewFileOfNoDirectoryTest, IsRefused) {
  const auto file = NewFile::create(-1, "name");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().reason, "local_file");
}

TEST(LocalErrorTest, AFullDiskIsSaid) {
  const Error error = local_error(ENOSPC, "name");
  EXPECT_EQ(error.code, Code::kExhausted);
  EXPECT_NE(error.message.find("nothing of it was kept"), std::string::npos);
}

}  // namespace
}  // namespace cay::client
