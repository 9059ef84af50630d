#include "cli/top_view.h"

#include <gtest/gtest.h>

namespace cay::cli {
namespace {

Use use(const std::string& name, std::uint64_t cpu, std::uint64_t memory = 1 << 20) {
  Use out;
  out.id = name;
  out.name = name;
  out.state = "ready";
  out.cpu_usec = cpu;
  out.memory_bytes = memory;
  return out;
}

TEST(TopViewTest, RatesAreDifferencesAndTheBusiestIsFirst) {
  const auto rows = top_rows({use("a", 1'000'000), use("b", 0)},
                             {use("a", 1'100'000), use("b", 1'000'000), use("new", 9'000'000)}, 2);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].use.name, "b");
  EXPECT_DOUBLE_EQ(rows[0].cpu_percent, 50);
  EXPECT_DOUBLE_EQ(rows[1].cpu_percent, 5);
  EXPECT_EQ(rows[2].use.name, "new");  // no rate without a look before
  EXPECT_DOUBLE_EQ(rows[2].cpu_percent, 0);
}

TEST(TopViewTest, ASandboxThatStartedAnewCountsFromZero) {
  const auto rows = top_rows({use("a", 5'000'000)}, {use("a", 100'000)}, 1);
  EXPECT_DOUBLE_EQ(rows.at(0).cpu_percent, 10);
}

TEST(TopViewTest, AScreenFitsAndClearsBehindItself) {
  std::vector<TopRow> rows;
  for (int i = 0; i < 100; ++i)
    rows.push_back({use("box-with-a-long-name-" + std::to_string(i), 0), 0, 0, 0});
  const std::string screen = top_screen("title\x1b[2J", rows, {.rows = 5, .cols = 20});
  EXPECT_EQ(screen.rfind("\x1b[H", 0), 0u);
  EXPECT_EQ(screen.find("\x1b[2J"), std::string::npos);  // no escape of a name's gets through
  std::size_t lines = 1;
  for (std::size_t at = 0; (at = screen.find("\r\n", at)) != std::string::npos; ++at) ++lines;
  EXPECT_EQ(lines, 5u);
  EXPECT_TRUE(screen.ends_with("\x1b[K\x1b[J"));
}

}  // namespace
}  // namespace cay::cli
