#include "codec/time.h"

#include <gtest/gtest.h>

namespace cay::codec {
namespace {

TEST(TimeTest, ThereAndBack) {
  EXPECT_EQ(rfc3339(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339(1'795'219'200'123), "2026-11-21T00:00:00.123Z");
  EXPECT_EQ(from_rfc3339("2026-11-21T00:00:00.123Z"), 1'795'219'200'123);
  EXPECT_EQ(from_rfc3339("2026-11-21T01:00:00+01:00"), 1'795'219'200'000);
  EXPECT_EQ(from_rfc3339("2026-11-21T00:00:00.123456789Z"), 1'795'219'200'123);
}

TEST(TimeTest, RefusesOtherText) {
  for (const auto* bad :
       {"", "2026", "2026-02-30T00:00:00Z", "2026-11-21 00:00:00Z", "2026-11-21T25:00:00Z",
        "2026-11-21T00:00:00", "2026-11-21T00:00:00.Z", "2026-11-21T00:00:00+1:00"}) {
    EXPECT_FALSE(from_rfc3339(bad)) << bad;
  }
}

TEST(TimeTest, HttpDate) { EXPECT_EQ(http_date(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT"); }

}  // namespace
}  // namespace cay::codec
