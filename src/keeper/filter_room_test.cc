#include "keeper/filter_room.h"

#include <gtest/gtest.h>

namespace cay::keeper {
namespace {

TEST(FilterRoomTest, FiltersAreTakenAllAtOnceAndAreGoneWithTheChild) {
  for (const Profile profile : kProfiles) {
    for (int again = 0; again < 3; ++again) {
      const auto taken = try_guest_filters(profile, kMostTried);
      ASSERT_TRUE(taken);
      // A host may have no more room than that, so the test needs no more than plenty.
      EXPECT_GT(*taken, 0U) << to_string(profile);
      EXPECT_LE(*taken, kMostTried);
      EXPECT_EQ(*taken > 1, profile == Profile::kNested) << "the others take no second one";
    }
  }
  EXPECT_EQ(*try_guest_filters(Profile::kDefault, 0), 0U);
}

TEST(FilterRoomTest, ItsErrorIsOursAndNamesTheSetting) {
  const Error error = no_filter_room();
  EXPECT_TRUE(is_ours(error.code));
  EXPECT_EQ(error.reason, "no_filter_room");
  EXPECT_NE(error.message.find("net.core.bpf_jit_limit"), std::string::npos);
}

}  // namespace
}  // namespace cay::keeper
