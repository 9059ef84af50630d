#include "codec/utf8.h"

#include <gtest/gtest.h>

#include <random>

namespace cay::codec {
namespace {

using namespace std::literals;

TEST(Utf8Test, ValidTextIsLeftAsItIs) {
  for (const auto text : {""sv, "plain"sv, "\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80"sv, "a\0b"sv,
                          "\xF4\x8F\xBF\xBF"sv, "\xED\x9F\xBF"sv}) {
    EXPECT_TRUE(is_utf8(text));
    EXPECT_EQ(sanitised_utf8(text), text);
  }
}

TEST(Utf8Test, MaximalSubpartsAsInTheStandard) {
  // Unicode 15, table 3-8 and its neighbours.
  EXPECT_EQ(sanitised_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41");
  EXPECT_EQ(sanitised_utf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41");
  EXPECT_EQ(sanitised_utf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\x41\uFFFD\uFFFD\x42");
  EXPECT_EQ(sanitised_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "\uFFFD\uFFFD\uFFFD\uFFFD\x41");
}

TEST(Utf8Test, HoldsBackAnIncompleteCharacterAndFlushesIt) {
  Utf8Sanitiser sanitiser;
  std::string out;
  sanitiser.feed("a\xE2\x82", out);
  EXPECT_EQ(out, "a");
  EXPECT_EQ(sanitiser.held(), 2u);
  sanitiser.feed("\xAC", out);
  EXPECT_EQ(out, "a\u20AC");
  sanitiser.feed("\xF0\x9F", out);
  sanitiser.finish(out);
  EXPECT_EQ(out, "a\u20AC\uFFFD");
}

// Property: however random bytes are cut, the result is the same, valid, and keeps what was valid.
TEST(Utf8Test, CutsDoNotMatter) {
  std::mt19937 random(7);  // NOLINT: a fixed seed, so that a failure comes again
  const std::string alphabet = "ab\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\xED\xA0\xF4\xFF\x80";
  for (int round = 0; round < 3000; ++round) {
    std::string raw;
    const auto size = random() % 40;
    for (unsigned i = 0; i < size; ++i) raw.push_back(alphabet[random() % alphabet.size()]);
    const std::string whole = sanitised_utf8(raw);
    ASSERT_TRUE(is_utf8(whole));
    if (is_utf8(raw)) {
      ASSERT_EQ(whole, raw);
    }
    std::string pieces;
    Utf8Sanitiser sanitiser;
    for (std::size_t at = 0; at < raw.size();) {
      const std::size_t take = 1 + random() % 5;
      sanitiser.feed(std::string_view(raw).substr(at, take), pieces);
      ASSERT_LE(sanitiser.held(), 3u);
      at += take;
    }
    sanitiser.finish(pieces);
    ASSERT_EQ(pieces, whole);
  }
}

TEST(Utf8Test, Boundaries) {
  const std::string text = "a\u20ACb";
  EXPECT_EQ(next_boundary(text, 2), 4u);
  EXPECT_EQ(previous_boundary(text, 3), 1u);
  EXPECT_EQ(next_boundary(text, 99), 5u);
  EXPECT_EQ(previous_boundary(text, 99), 5u);
}

}  // namespace
}  // namespace cay::codec
