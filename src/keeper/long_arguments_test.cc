#include "keeper/long_arguments.h"

#include <unistd.h>

#include <gtest/gtest.h>

namespace cay::keeper {
namespace {

TEST(LongArgumentsTest, AShortLineStaysAnArgument) {
  std::vector<std::string> argv = {"/bin/sh", "-c", std::string(128 * 1024 - 1, 'x')};
  const auto before = argv;
  const auto file = put_line_into_file(argv);
  ASSERT_TRUE(file);
  EXPECT_FALSE(*file);
  EXPECT_EQ(argv, before);
}

TEST(LongArgumentsTest, ALongLineIsReadFromASealedFile) {
  const std::string line(128 * 1024, 'x');
  std::vector<std::string> argv = {"/bin/sh", "-c", line};
  const auto file = put_line_into_file(argv);
  ASSERT_TRUE(file && *file);
  EXPECT_EQ(argv.back(), ". /proc/self/fd/9");
  std::string got(line.size() + 64, '\0');
  got.resize(static_cast<std::size_t>(::pread(file->get(), got.data(), got.size(), 0)));
  EXPECT_EQ(got, "exec 9<&-;" + line);
  EXPECT_LT(::pwrite(file->get(), "y", 1, 0), 0);
}

TEST(LongArgumentsTest, ARecordSaysWhatItLeftOut) {
  std::vector<std::string> argv = {"cc", "-c", "x.c"};
  EXPECT_FALSE(shorten(argv));
  EXPECT_EQ(argv.size(), 3U);
  argv = {"sh", "-c", std::string(100'000, 'x')};
  EXPECT_TRUE(shorten(argv));
  EXPECT_EQ(argv.back().size(), 4096U);
  argv.assign(5000, "word");
  EXPECT_TRUE(shorten(argv));
  EXPECT_LT(argv.size(), 1000U);
}

}  // namespace
}  // namespace cay::keeper
