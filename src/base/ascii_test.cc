#include "base/ascii.h"

#include <gtest/gtest.h>

namespace cay {
namespace {

TEST(AsciiTest, LowersLettersAlone) {
  EXPECT_EQ(lowered("Host-NAME_[@]`{ 09"), "host-name_[@]`{ 09");
  EXPECT_EQ(lowered("\xc3\x84\xc0Z\xff"), "\xc3\x84\xc0z\xff");
  EXPECT_EQ(lowered(""), "");
}

TEST(AsciiTest, ComparesIgnoringCase) {
  EXPECT_TRUE(equals_ignoring_case("Content-Length", "cONTENT-lENGTH"));
  EXPECT_TRUE(equals_ignoring_case("", ""));
  EXPECT_FALSE(equals_ignoring_case("host", "hosts"));
  EXPECT_FALSE(equals_ignoring_case("hosts", "host"));
  EXPECT_FALSE(equals_ignoring_case("a[", "a{"));
  EXPECT_FALSE(equals_ignoring_case("\xc4", "\xe4"));
}

TEST(AsciiTest, TrimsBothEnds) {
  EXPECT_EQ(trimmed(" \t a b\t "), "a b");
  EXPECT_EQ(trimmed("a\n"), "a\n");
  EXPECT_EQ(trimmed("\r\na \n", " \r\n"), "a");
  EXPECT_EQ(trimmed(" \t "), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(AsciiTest, ClassesHoldNothingBesideTheirs) {
  int digits = 0, letters = 0, hex = 0, upper = 0, lower_letters = 0, lower_hex = 0;
  for (int i = 0; i < 256; ++i) {
    const char c = static_cast<char>(i);
    digits += is_digit(c) ? 1 : 0;
    letters += is_letter(c) ? 1 : 0;
    hex += hex_digit(c) >= 0 ? 1 : 0;
    upper += is_upper(c) ? 1 : 0;
    lower_letters += is_lower(c) ? 1 : 0;
    lower_hex += is_lower_hex(c) ? 1 : 0;
  }
  EXPECT_EQ(digits, 10);
  EXPECT_EQ(letters, 52);
  EXPECT_EQ(upper, 26);
  EXPECT_EQ(lower_letters, 26);
  EXPECT_EQ(lower_hex, 16);
  EXPECT_EQ(hex, 22);
  EXPECT_EQ(hex_digit('0'), 0);
  EXPECT_EQ(hex_digit('a'), 10);
  EXPECT_EQ(hex_digit('F'), 15);
  EXPECT_EQ(hex_digit('g'), -1);
}

}  // namespace
}  // namespace cay
