// A limit on the size of files stands for a full disk. A write fails by it in the same way, after a
// part of the bytes.
#include "server/line_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include "base/testing/temp_dir.h"

namespace cay::server {
namespace {

// Writes beyond the limit fail for the lifetime of this object.
class NoRoomPast {
 public:
  explicit NoRoomPast(rlim_t bytes) : before_(::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &usual_);
    const rlimit small{bytes, usual_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~NoRoomPast() {
    ::setrlimit(RLIMIT_FSIZE, &usual_);
    ::signal(SIGXFSZ, before_);
  }
  NoRoomPast(const NoRoomPast&) = delete;
  NoRoomPast& operator=(const NoRoomPast&) = delete;

 private:
  sighandler_t before_;
  rlimit usual_{};
};

class LineFileTest : public ::testing::Test {
 protected:
  std::string text(const std::string& name = "audit.log") const {
    const std::ifstream in(dir_.path() + "/" + name);
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
  }
  LineFile opened(LineFile::Limits limits = {}) const {
    auto file = LineFile::open(path_, limits);
    EXPECT_TRUE(file);
    return *std::move(file);
  }
  const cay::testing::TempDir dir_;
  const std::string path_ = dir_.path() + "/audit.log";
};

TEST_F(LineFileTest, GoesOnWhereItWasAndIsNobodyElses) {
  EXPECT_TRUE(opened().append("one"));
  EXPECT_TRUE(opened().append("two"));
  EXPECT_EQ(text(), "one\ntwo\n");
  struct stat info{};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
}

TEST_F(LineFileTest, ALineThatFindsNoRoomLeavesNothingOfItself) {
  LineFile file = opened();
  ASSERT_TRUE(file.append("whole"));
  {
    const NoRoomPast full(8);
    EXPECT_FALSE(file.append("too long for it"));
    EXPECT_EQ(text(), "whole\n");
    EXPECT_TRUE(file.append("x")) << "the control: what fits is written";
    EXPECT_FALSE(file.append("y"));
  }
  EXPECT_TRUE(file.append("after"));
  EXPECT_EQ(text(), "whole\nx\nafter\n");
}

TEST_F(LineFileTest, ALineThatWasCutShortSpoilsNoOther) {
  std::ofstream(path_) << "whole\nhal";
  EXPECT_TRUE(opened().append("after"));
  EXPECT_EQ(text(), "whole\nhal\nafter\n");
}

TEST_F(LineFileTest, TurnsOverAndForgetsTheOldest) {
  LineFile file = opened({.bytes = 12, .older = 2});
  for (const char* line : {"a-line", "b-line", "c-line", "d-line"}) ASSERT_TRUE(file.append(line));
  EXPECT_EQ(text(), "d-line\n");
  EXPECT_EQ(text("audit.1.log"), "c-line\n");
  EXPECT_EQ(text("audit.2.log"), "b-line\n");
  EXPECT_EQ(text("audit.3.log"), "");
  struct stat info{};
  ASSERT_EQ(::stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600u);
  EXPECT_NE(::stat((path_ + ".new").c_str(), &info), 0);
  ASSERT_TRUE(opened({.bytes = 12, .older = 2}).append("a line longer than all"))
      << "it has a file of its own";
  EXPECT_EQ(text(), "a line longer than all\n");
}

}  // namespace
}  // namespace cay::server
