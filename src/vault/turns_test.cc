#include "vault/turns.h"

#include <gtest/gtest.h>

namespace cay::vault {
namespace {

wire::VaultTurn turn(const char* daemon, std::uint64_t number) { return {daemon, number}; }

TEST(TurnsTest, ALateWordOfOneSandboxIsOvertakenAndARepeatedOneIsNot) {
  Turns turns;
  turns.heard(turn("d", 1));
  turns.granted("a", turn("d", 7));
  EXPECT_TRUE(turns.overtaken("a", turn("d", 6)));
  EXPECT_FALSE(turns.overtaken("a", turn("d", 7))) << "asked again, because the answer was lost";
  EXPECT_FALSE(turns.overtaken("a", turn("d", 8)));
  EXPECT_FALSE(turns.overtaken("b", turn("d", 6)));
  turns.revoked("a", turn("d", 9));
  EXPECT_TRUE(turns.overtaken("a", turn("d", 8))) << "a grant that comes after its end";
}

TEST(TurnsTest, AnotherDaemonCountsFromAnewAndTheFormerNoMore) {
  Turns turns;
  turns.granted("a", turn("kept", 40));  // as it lies on the disk
  turns.heard(turn("one", 1));
  EXPECT_FALSE(turns.overtaken("a", turn("one", 1)));
  turns.granted("a", turn("one", 90));
  turns.heard(turn("two", 1));
  turns.heard(turn("one", 91));
  EXPECT_FALSE(turns.overtaken("a", turn("two", 1)));
  EXPECT_TRUE(turns.overtaken("a", turn("one", 91)));
  EXPECT_TRUE(turns.overtaken("b", turn("one", 91)));
}

TEST(TurnsTest, WordsOfAnOlderReleaseCountAsTheyCome) {
  Turns turns;
  turns.heard(turn("", 0));
  turns.granted("a", turn("d", 7));
  EXPECT_FALSE(turns.overtaken("a", turn("", 0)));
  turns.granted("a", turn("", 0));
  EXPECT_FALSE(turns.overtaken("a", turn("d", 1)));
}

TEST(TurnsTest, OnlySoManyThatAreGoneAreRemembered) {
  Turns turns;
  turns.heard(turn("d", 1));
  turns.revoked("first", turn("d", 5));
  turns.revoked("again", turn("d", 5));
  turns.granted("again", turn("d", 6));
  for (std::size_t i = 0; i < Turns::kMostRevoked; ++i) turns.revoked(std::to_string(i), turn("d", 7));
  EXPECT_FALSE(turns.overtaken("first", turn("d", 4)));
  EXPECT_TRUE(turns.overtaken("again", turn("d", 5))) << "it has a grant";
  EXPECT_TRUE(turns.overtaken("4095", turn("d", 6)));
}

}  // namespace
}  // namespace cay::vault
