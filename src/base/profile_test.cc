#include "base/profile.h"

#include <gtest/gtest.h>

namespace cay {
namespace {

TEST(ProfileTest, EveryProfileHasANameOfItsOwn) {
  EXPECT_EQ(to_string(Profile::kStrict), "strict");
  EXPECT_EQ(to_string(Profile::kDefault), "default");
  EXPECT_EQ(to_string(Profile::kNested), "nested");
  for (const Profile profile : kProfiles) EXPECT_EQ(profile_from(to_string(profile)), profile);
  for (const char* none : {"", "Strict", "nested ", "loose"})
    EXPECT_EQ(profile_from(none), std::nullopt) << none;
}

}  // namespace
}  // namespace cay
