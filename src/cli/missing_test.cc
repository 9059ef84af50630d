#include "cli/missing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cay::cli {
namespace {

using namespace std::chrono_literals;

struct MissingTest : ::testing::Test {
  std::vector<std::string> said;
  Missing missing{[this](std::string_view line) { said.emplace_back(line); }};
  Missing::Clock::time_point now{};

  void lose(std::uint64_t bytes, sdk::Stream stream = sdk::Stream::kStdout) {
    sdk::Gap gap;
    gap.stream = stream;
    gap.length = bytes;
    missing.add(gap, now);
  }
};

TEST_F(MissingTest, OneGapIsToldAtOnceAndThatIsAll) {
  lose(4096);
  ASSERT_EQ(said,
            std::vector<std::string>{
                "4096 bytes of stdout are missing here: the command wrote more than is kept"});
  now += 1h;
  missing.look(now);
  missing.finish();
  EXPECT_EQ(said.size(), 1u);
}

TEST_F(MissingTest, ManyAreSummedUpAndNoneIsLeftOut) {
  for (int i = 0; i < 3000; ++i) lose(2048);
  EXPECT_EQ(said.size(), 1u);
  now += 1s;
  missing.look(now);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[1],
            "6141952 more bytes of stdout are missing since the last report, in 2999 places");
  lose(10);
  lose(20);
  missing.finish();
  ASSERT_EQ(said.size(), 4u);
  EXPECT_EQ(said[2], "30 more bytes of stdout are missing since the last report, in 2 places");
  EXPECT_EQ(said[3], "in all 6144030 bytes of stdout are missing, in 3002 places");
  missing.finish();
  EXPECT_EQ(said.size(), 4u) << "once";
}

TEST_F(MissingTest, ALongRunGetsFewLines) {
  for (int i = 0; i < 36'000; ++i, now += 100ms) lose(2048);
  EXPECT_LT(said.size(), 30u);
}

TEST_F(MissingTest, StreamsAreToldApart) {
  lose(1);
  lose(2, sdk::Stream::kStderr);
  ASSERT_EQ(said.size(), 2u);
  EXPECT_NE(said[1].find("2 bytes of stderr are missing here"), std::string::npos) << said[1];
  missing.finish();
  EXPECT_EQ(said.size(), 2u) << "each was told whole";
}

}  // namespace
}  // namespace cay::cli
