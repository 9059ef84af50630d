#include "vault/normaliser.h"

#include <gtest/gtest.h>

namespace cay::vault {
namespace {

using After = Normaliser::After;

TEST(NormaliserTest, WhatALayoutAddsIsLeftOut) {
  EXPECT_EQ(normalised("Plain Text, of 2 words: a=b\\c/d"), "plain text,of 2 words: a=b\\c/d");
  EXPECT_EQ(normalised("QUJD\r\nREVG\n\t R0hJ\r\n"), "qujdrevgr0hj") << "MIME";
  EXPECT_EQ(normalised(R"(QUJD\r\nREVG\n  R0hJ)"), "qujdrevgr0hj") << "the same in JSON";
  EXPECT_EQ(normalised("[\n  115,\n  107\n]"), "[115,107]");
  EXPECT_EQ(normalised("QU=\r\nJD\\\nRE"), "qujdre") << "soft breaks";
  EXPECT_EQ(normalised(std::string_view("s\0k\0\0\0", 6)), "sk");
  EXPECT_EQ(normalised(R"(a\/b\\/c)"), "a/b/c");
  EXPECT_EQ(normalised(R"(QUJD\\nREVG)"), "qujdrevg") << "of JSON in JSON";
  EXPECT_EQ(normalised(R"(sk\\\-live\\-1,\  2,\\\ 3)"), "sk-live-1,2,3") << "escaped twice, and behind a comma";
}

TEST(NormaliserTest, TheSameHoweverItIsCut) {
  const std::string text =
      std::string("A=\r\n b, c\\/d\\\\n\\n  e\\r=\\=\n=,, \\") + std::string(3, '\0') + "nF \\\n\\\\\r=";
  const std::string whole = normalised(text);
  for (std::size_t size = 1; size < text.size(); ++size) {
    Normaliser cut;
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += size) cut.add(std::string_view(text).substr(at, size), out);
    EXPECT_EQ(out, whole) << size;
  }
}

TEST(NormaliserTest, WhatStandsBeforeATextMattersToItsFirstBytesAlone) {
  EXPECT_EQ(normalised("nvapi", After::kBackslash), "vapi");
  EXPECT_EQ(normalised("\\n", After::kBackslash), "");
  EXPECT_EQ(normalised("-x", After::kBackslash), "-x");
  EXPECT_EQ(normalised(R"(it\'s\ \-a\\b\d)"), R"(it's -a\b\d)") << "before signs and blanks alone";
  EXPECT_EQ(normalised("  x y", After::kBreak), "x y");
  for (const char* before : {"x", "\\", ",", "\\\\", "=", "\n"}) {
    for (const char* text : {"nvapi\\n-x", "/x\\/y", "  x, y", "\\\\n", "abc"}) {
      const std::string all = normalised(std::string(before) + text + "!");
      const bool found = all.ends_with(normalised(text) + "!") ||
                         all.ends_with(normalised(text, After::kBackslash) + "!") ||
                         all.ends_with(normalised(text, After::kBreak) + "!");
      EXPECT_TRUE(found) << before << text;
    }
  }
}

}  // namespace
}  // namespace cay::vault
