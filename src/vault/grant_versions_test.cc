#include "vault/grant_versions.h"

#include <gtest/gtest.h>

namespace cay::vault {
namespace {

wire::VaultTurn turn(const char* daemon, std::uint64_t number) { return {daemon, number}; }

TEST(GrantVersionsTest, ALateWordOfOneSandboxIsOvertakenAndARepeatedOneIsNot) {
  GrantVersions versions;
  versions.received(turn("d", 1));
  versions.granted("a", turn("d", 7));
  EXPECT_TRUE(versions.is_outdated("a", turn("d", 6)));
  EXPECT_FALSE(versions.is_outdated("a", turn("d", 7)))
      << "asked again, because the answer was lost";
  EXPECT_FALSE(versions.is_outdated("a", turn("d", 8)));
  EXPECT_FALSE(versions.is_outdated("b", turn("d", 6)));
  versions.revoked("a", turn("d", 9));
  EXPECT_TRUE(versions.is_outdated("a", turn("d", 8))) << "a grant that comes after its end";
}

TEST(GrantVersionsTest, AnotherDaemonCountsFromAnewAndTheFormerNoMore) {
  GrantVersions versions;
  versions.granted("a", turn("kept", 40));  // as it lies on the disk
  versions.received(turn("one", 1));
  EXPECT_FALSE(versions.is_outdated("a", turn("one", 1)));
  versions.granted("a", turn("one", 90));
  versions.received(turn("two", 1));
  versions.received(turn("one", 91));
  EXPECT_FALSE(versions.is_outdated("a", turn("two", 1)));
  EXPECT_TRUE(versions.is_outdated("a", turn("one", 91)));
  EXPECT_TRUE(versions.is_outdated("b", turn("one", 91)));
}

TEST(GrantVersionsTest, WordsOfAnOlderReleaseCountAsTheyCome) {
  GrantVersions versions;
  versions.received(turn("", 0));
  versions.granted("a", turn("d", 7));
  EXPECT_FALSE(versions.is_outdated("a", turn("", 0)));
  versions.granted("a", turn("", 0));
  EXPECT_FALSE(versions.is_outdated("a", turn("d", 1)));
}

TEST(GrantVersionsTest, OnlySoManyThatAreGoneAreRemembered) {
  GrantVersions versions;
  versions.received(turn("d", 1));
  versions.revoked("first", turn("d", 5));
  versions.revoked("again", turn("d", 5));
  versions.granted("again", turn("d", 6));
  for (std::size_t i = 0; i < GrantVersions::kMostRevoked; ++i)
    versions.revoked(std::to_string(i), turn("d", 7));
  EXPECT_FALSE(versions.is_outdated("first", turn("d", 4)));
  EXPECT_TRUE(versions.is_outdated("again", turn("d", 5))) << "it has a grant";
  EXPECT_TRUE(versions.is_outdated("4095", turn("d", 6)));
}

}  // namespace
}  // namespace cay::vault
