#include "dockerfile/expand.h"

#include <gtest/gtest.h>

#include <map>

namespace cay::dockerfile {
namespace {

const std::string* find(std::string_view name) {
  static const std::map<std::string, std::string, std::less<>> kSet{{"A", "a"},
                                                                    {"EMPTY", ""},
                                                                    {"FOO", "foo bar"},
                                                                    {"V", "1.2.3"},
                                                                    {"FILE", "x/y.tar.gz"},
                                                                    {"U", "é€"},
                                                                    {"PORTS", "80 443/udp"}};
  const auto found = kSet.find(name);
  return found == kSet.end() ? nullptr : &found->second;
}

std::string word(std::string_view text, char escape = '\\') {
  auto out = expand_word(text, find, escape);
  return out ? *out : "error: " + out.error().message;
}

struct Case {
  std::string_view text, expected;
};

TEST(ExpandTest, VariablesAsDockerExpandsThem) {
  for (const auto& [text, expected] : std::initializer_list<Case>{{"$A", "a"},
                                                                  {"${A}", "a"},
                                                                  {"x$A/y", "xa/y"},
                                                                  {"${A}bc", "abc"},
                                                                  {"$Abc", ""},
                                                                  {"$NOT", ""},
                                                                  {"${NOT}", ""},
                                                                  {"${NOT:-d}", "d"},
                                                                  {"${NOT-d}", "d"},
                                                                  {"${EMPTY:-d}", "d"},
                                                                  {"${EMPTY-d}", ""},
                                                                  {"${A:-d}", "a"},
                                                                  {"${A:+alt}", "alt"},
                                                                  {"${A+alt}", "alt"},
                                                                  {"${EMPTY:+alt}", ""},
                                                                  {"${EMPTY+alt}", "alt"},
                                                                  {"${NOT:+alt}", ""},
                                                                  {"${NOT:-$A}", "a"},
                                                                  {"${NOT:-${NOT:-${A}}}", "a"},
                                                                  {"${NOT:-\"}\"}", "}"},
                                                                  {"${NOT:-a b}", "a b"},
                                                                  {"${A:?}", "a"},
                                                                  {"\\$A", "$A"},
                                                                  {"\\${A}", "${A}"},
                                                                  {"'$A'", "$A"},
                                                                  {"\"$A\"", "a"},
                                                                  {"\"\\$A\"", "$A"},
                                                                  {"\"a\\\"b\"", "a\"b"},
                                                                  {"\"a\\nb\"", "a\\nb"},
                                                                  {"a\\nb", "anb"},
                                                                  {"\"it's\"", "it's"},
                                                                  {"'a\\b'", "a\\b"},
                                                                  {"a\\\\b", "a\\b"},
                                                                  {"a\\", "a"},
                                                                  {"$", "$"},
                                                                  {"a$", "a$"},
                                                                  {"$/x", "$/x"},
                                                                  {"$$", ""},
                                                                  {"$1x", "x"},
                                                                  {"$FOO", "foo bar"},
                                                                  {"${V%.*}", "1.2"},
                                                                  {"${V%%.*}", "1"},
                                                                  {"${V#*.}", "2.3"},
                                                                  {"${V##*.}", "3"},
                                                                  {"${V#9}", "1.2.3"},
                                                                  {"${FILE##*/}", "y.tar.gz"},
                                                                  {"${FILE%.tar.gz}", "x/y"},
                                                                  {"${U#?}", "€"},
                                                                  {"${U%?}", "é"},
                                                                  {"${NOT#x}", ""}}) {
    EXPECT_EQ(word(text), expected) << text;
  }
}

TEST(ExpandTest, BacktickEscapesWhereTheDirectiveSaysSo) {
  EXPECT_EQ(word("c:\\$A", '`'), "c:\\a");
  EXPECT_EQ(word("`$A", '`'), "$A");
}

TEST(ExpandTest, WhatIsNotUnderstoodIsAnError) {
  for (const std::string_view text : {"${A", "${", "${}", "${:-x}", "${A:=x}", "${A/b/c}", "${A^}",
                                      "'a", "\"a", "${NOT:?}", "${EMPTY:?}", "${NOT?gone}"}) {
    EXPECT_TRUE(word(text).starts_with("error: ")) << text << " became " << word(text);
  }
  EXPECT_EQ(word("${NOT?gone}"), "error: NOT: gone");
  EXPECT_EQ(word("${NOT:?}"), "error: NOT: is not set");
  EXPECT_EQ(word("${EMPTY:?}"), "error: EMPTY: is empty");
}

TEST(ExpandTest, NothingGrowsWithoutALimit) {
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "${NOT:-";
  EXPECT_TRUE(word(deep).starts_with("error: too many"));
  const std::string big(kLongestWord, 'x');
  const Lookup lookup = [&big](std::string_view /*any name*/) { return &big; };
  EXPECT_TRUE(expand_word("$A", lookup, '\\'));
  EXPECT_FALSE(expand_word("$A$A", lookup, '\\'));
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "${A:+${A#xx*}}${A##*}";
  EXPECT_FALSE(expand_word(many, lookup, '\\'));
}

TEST(ExpandTest, WordsAreSplitAfterTheExpansion) {
  const auto words = expand_words("$PORTS \"a b\" 'c d' e\\ f $NOT \"$FOO\"", find, '\\');
  ASSERT_TRUE(words);
  EXPECT_EQ(*words, (std::vector<std::string>{"80", "443/udp", "a b", "c d", "e f", "foo bar"}));
}

TEST(ExpandTest, QuotesOfAHeredocAreText) {
  EXPECT_EQ(*expand_content("say \"$A\" '$A' \\$A\n", find), "say \"a\" 'a' $A\n");
}

}  // namespace
}  // namespace cay::dockerfile
