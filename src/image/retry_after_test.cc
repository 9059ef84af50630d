#include "image/retry_after.h"

#include <gtest/gtest.h>

namespace cay::image {
namespace {

TEST(RetryAfterTest, SecondsAndDatesCount) {
  constexpr std::time_t kNow = 784'111'777;  // Sun, 06 Nov 1994 08:49:37 GMT
  EXPECT_EQ(seconds_until("17", kNow), 17);
  EXPECT_EQ(seconds_until("Sun, 06 Nov 1994 08:50:07 GMT", kNow), 30);
  EXPECT_EQ(seconds_until("Sun, 06 Nov 1994 08:49:07 GMT", kNow), 0);
}

TEST(RetryAfterTest, OtherTextsAreNoDemand) {
  for (const char* text : {"", "-5", "soon", "17 s", "99999999999999999999"})
    EXPECT_EQ(seconds_until(text, 0), 0) << text;
}

}  // namespace
}  // namespace cay::image
