#include "base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace cay {
namespace {

Result<int> half(int n) {
  if (n % 2 != 0) return Error{Code::kInvalidArgument, "odd", "odd number", 0};
  return n / 2;
}
Result<std::string> quarter(int n) {
  CAY_TRY(const int once, half(n));
  CAY_TRY(const int twice, half(once));
  return std::to_string(twice);
}
Result<void> must_be_even(int n) {
  CAY_CHECK(half(n));
  return {};
}

TEST(ResultTest, TryBindsTheValueOrReturnsTheError) {
  EXPECT_EQ(*quarter(8), "2");
  const auto got = quarter(6);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().reason, "odd");
  EXPECT_TRUE(must_be_even(2));
  EXPECT_FALSE(must_be_even(3));
}

TEST(ResultTest, ErrnoMapsToWhatTheCallerDoesAboutIt) {
  EXPECT_EQ(Error::from_errno(ENOENT, "open").code, Code::kNotFound);
  EXPECT_EQ(Error::from_errno(EDQUOT, "write").code, Code::kExhausted);
  EXPECT_TRUE(is_ours(Error::from_errno(EIO, "read").code));
}

TEST(ResultTest, DefaultConstructedIsAnError) { EXPECT_FALSE(Result<int>()); }

}  // namespace
}  // namespace cay
