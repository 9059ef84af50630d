#include "cli/agent_text.h"

#include <gtest/gtest.h>

namespace cay::cli {
namespace {

TEST(AgentTextTest, PiecesArePrintableHoweverTheyAreCut) {
  const std::string text = "a\tb\n\x1b[2J\xc3\xa9\xe2\x82\xac\xc2\x9b!";
  const std::string want = "a\tb\n\\x1b[2J\xc3\xa9\xe2\x82\xac\\xc2\\x9b!";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    PrintableStream stream;
    std::string got = stream.add(text.substr(0, cut));
    got += stream.add(text.substr(cut));
    got += stream.finish();
    EXPECT_EQ(got, want) << cut;
  }
}

TEST(AgentTextTest, OfAPaintedLineTheLastTextStays) {
  EXPECT_EQ(shown_lines("10 %\r50 %\r100 %\nend\r\n"), "100 %\nend\n");
  EXPECT_EQ(shown_lines("\x1b[31mred"), "\\x1b[31mred");
}

TEST(AgentTextTest, CutsBetweenCharacters) {
  EXPECT_EQ(cut_line("short", 10), "short");
  EXPECT_EQ(cut_line("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 6), "\xc3\xa9…");
}

TEST(AgentTextTest, CountsTheLinesThatItLeavesOut) {
  EXPECT_EQ(first_lines("a\nb\n", "  ", 2), "  a\n  b\n");
  EXPECT_EQ(first_lines("a\nb\nc", "  ", 2), "  a\n  b\n  … 1 more line\n");
  EXPECT_EQ(first_lines("", "  ", 2), "");
}

TEST(AgentTextTest, ArgumentsFitOnALine) {
  EXPECT_EQ(short_arguments("execute", R"({"command":"python3 a.py"})"), "python3 a.py");
  EXPECT_EQ(short_arguments("execute", R"({"command":"cat <<E\nx\nE"})"), "cat <<E …");
  EXPECT_EQ(short_arguments("read_file", R"({"file_path":"/a","offset":3})"), "/a");
  EXPECT_EQ(short_arguments("grep", R"({"pattern":"x y","path":"/src"})"), "x y in /src");
  EXPECT_EQ(short_arguments("mine", R"({"a":1,"b":"c"})"), "a=1 b=c");
  EXPECT_EQ(short_arguments("mine", R"({"a":)"), R"({"a":)");
  EXPECT_EQ(short_arguments("execute", R"({"command":"\u001b]0;x"})"), "\\x1b]0;x");
}

TEST(AgentTextTest, NumbersForPeople) {
  EXPECT_EQ(grouped(7), "7");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(dollars(0.00213), "$0.0021");
  EXPECT_EQ(dollars(1.5), "$1.50");
}

}  // namespace
}  // namespace cay::cli
