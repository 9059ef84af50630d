#include "api/common/ranges.h"

#include <gtest/gtest.h>

#include "api/common/cursor.h"

namespace cay::api {
namespace {

std::string shown(std::string_view header, std::uint64_t size) {
  const RangeAnswer got = range_of(header, size);
  if (got.kind == RangeKind::kWhole) return "whole";
  if (got.kind == RangeKind::kUnsatisfiable) return "416";
  return std::to_string(got.range.first) + "-" + std::to_string(got.range.last);
}

TEST(RangesTest, OneRange) {
  EXPECT_EQ(shown("bytes=0-0", 10), "0-0");
  EXPECT_EQ(shown("bytes=2-", 10), "2-9");
  EXPECT_EQ(shown("Bytes = 2-99", 10), "2-9");
  EXPECT_EQ(shown("bytes=-3", 10), "7-9");
  EXPECT_EQ(shown("bytes=-30", 10), "0-9");
  EXPECT_EQ(shown("bytes=10-", 10), "416");
  EXPECT_EQ(shown("bytes=-0", 10), "416");
  EXPECT_EQ(shown("bytes=0-", 0), "416");
}

TEST(RangesTest, EverythingElseIsIgnored) {
  for (const auto* odd :
       {"", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "bytes=0-1,3-4", "lines=0-1",
        "bytes=99999999999999999999-", "bytes=1 -2x"}) {
    EXPECT_EQ(shown(odd, 10), "whole") << odd;
  }
}

TEST(RangesTest, NoneMatch) {
  EXPECT_TRUE(none_match_hits("*", "\"a\""));
  EXPECT_TRUE(none_match_hits("\"b\", W/\"a\"", "\"a\""));
  EXPECT_FALSE(none_match_hits("\"b\"", "\"a\""));
  EXPECT_FALSE(none_match_hits("", "\"a\""));
}

TEST(CursorTest, BelongsToItsQuery) {
  const std::string cursor = cursor_at(20, "a=b&");
  EXPECT_EQ(offset_of_cursor(cursor, "a=b&"), 20u);
  EXPECT_FALSE(offset_of_cursor(cursor, "a=c&"));
  EXPECT_FALSE(offset_of_cursor("c1-20-1", "a=b&"));
  EXPECT_FALSE(offset_of_cursor("", ""));
  EXPECT_FALSE(offset_of_cursor(cursor + "x", "a=b&"));
}

}  // namespace
}  // namespace cay::api
