#include "os/exact_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/testing/temp_dir.h"
#include "os/file.h"

namespace cay::os {
namespace {

TEST(ExactFileTest, TheModeIsTheOneGivenWhateverTheUmask) {
  const cay::testing::TempDir place;
  const auto dir = open_dir(AT_FDCWD, place.path());
  ASSERT_TRUE(dir);
  const mode_t before = ::umask(077);
  const auto one = replace_file_exactly(dir->get(), "f", "one", 0644),
             two = replace_file_exactly(dir->get(), "f", "two", 0644);
  ::umask(before);
  ASSERT_TRUE(one && two);
  struct stat info{};
  ASSERT_EQ(::fstatat(dir->get(), "f", &info, 0), 0);
  EXPECT_EQ(info.st_mode & 07777, 0644U);
  EXPECT_EQ(*read_file(dir->get(), "f", 10), "two");
  ASSERT_EQ(::mkdirat(dir->get(), "d", 0700), 0);
  EXPECT_EQ(replace_file_exactly(dir->get(), "d", "x", 0644).error().os_errno, EISDIR);
  EXPECT_EQ(list_dir(dir->get())->size(), 2U) << "nothing is left of it";
}

}  // namespace
}  // namespace cay::os
