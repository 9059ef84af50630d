#include "vault/reflection.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "codec/base64.h"
#include "vault/written.h"

namespace cay::vault {
namespace {

constexpr const char* kSecret = "sk-live-0123456789abcdef";

class ReflectionWatchTest : public ::testing::Test {
 protected:
  ReflectionWatchTest() { watch.look_for(kSecret); }
  ReflectionWatch watch;
};

TEST_F(ReflectionWatchTest, ASecretIsFoundWhereverAndHoweverItStands) {
  for (const Wiped& way : written(kSecret)) {
    const std::string text(way.view());
    for (std::size_t before = 0; before < 20; ++before) {
      EXPECT_TRUE(watch.holds(std::string(before, text[0]) + text + "y")) << text << " " << before;
    }
    EXPECT_TRUE(watch.holds(text)) << text;
    EXPECT_FALSE(watch.holds(text.substr(1))) << text;
    EXPECT_FALSE(watch.holds(text.substr(0, text.size() - 1))) << text;
  }
  for (const char* text : {"", "sk", "sk-live-", "sk-live-sk-live-sk-live-"}) EXPECT_FALSE(watch.holds(text)) << text;
}

TEST_F(ReflectionWatchTest, InBase64WhereverItStands) {
  for (std::size_t before = 0; before < 6; ++before) {
    for (std::size_t after = 0; after < 6; ++after) {
      const std::string text = codec::base64(std::string(before, 'u') + kSecret + std::string(after, 'v'));
      EXPECT_TRUE(watch.holds("{\"echo\":\"" + text + "\"}")) << before << " " << after;
    }
  }
  EXPECT_FALSE(watch.holds(codec::base64("sk-live-another-value-altogether"))) << "the control";
}

TEST_F(ReflectionWatchTest, AmongManyThatBeginAlike) {
  EXPECT_EQ(ReflectionWatch().longest(), 0U);
  EXPECT_FALSE(ReflectionWatch().holds("anything at all"));
  std::vector<std::string> all{kSecret};
  for (int i = 1; i < 20; ++i)
    all.push_back("sk-live-" + std::to_string(i * 7919) + std::string(static_cast<std::size_t>(i), 'q'));
  for (const std::string& one : all) watch.look_for(one);
  watch.look_for(kSecret);
  for (const std::string& one : all) {
    EXPECT_TRUE(watch.holds("sk-live-sk-" + one + "-")) << one;
    EXPECT_FALSE(watch.holds("sk-live-" + one.substr(9))) << one;
  }
  EXPECT_EQ(watch.longest(), all.back().size() * kMostGrowth);
}

TEST_F(ReflectionWatchTest, OfALongOneByItsBeginning) {
  const std::string beginning(kMostSought, 'k');
  watch.look_for(beginning + "lmnopq");
  EXPECT_EQ(watch.longest(), kMostSought * kMostGrowth);
  EXPECT_TRUE(watch.holds("x" + beginning + "lmnopq"));
  EXPECT_FALSE(watch.holds(beginning.substr(1)));
}

}  // namespace
}  // namespace cay::vault
