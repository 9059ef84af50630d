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
    EXPECT_FALSE(watch.holds(text.substr(2))) << text;
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

TEST_F(ReflectionWatchTest, WhateverStandsBeforeItAndBehindIt) {
  // What a backslash, a comma or a line break makes something else.
  for (const std::string secret : {"nvapi-0123456789", "/root/of/it/all", "r\\n-0123456789", "\\n\\n-0123456789",
                                   "0123456789abcd==", "0123456789abc\\", ",  a, b, c, d, e, f"}) {
    ReflectionWatch own;
    own.look_for(secret);
    for (const char* before : {"", "x", "\\", "\\\\", ",", ", ", "\n", "\r\n ", "="}) {
      for (const char* behind : {"", "x", "\n", "n", "\\n", ", x", "\r\n"})
        EXPECT_TRUE(own.holds(before + secret + behind)) << before << secret << behind;
    }
    EXPECT_FALSE(own.holds("\\" + secret.substr(0, secret.size() - 3))) << secret << ": the control";
  }
}

TEST_F(ReflectionWatchTest, HoweverItIsLaidOut) {
  const std::string secret(kSecret), base64 = codec::base64("Authorization: Bearer " + secret);
  for (const std::size_t width : {std::size_t{1}, std::size_t{20}, std::size_t{60}, std::size_t{64}, std::size_t{76}}) {
    for (const char* line_break : {"\n", "\r\n", "\\n", "\\r\\n", "\n    "}) {
      for (std::size_t before = 0; before < 80; ++before) {
        const std::string text = codec::base64(std::string(before, 'u') + secret);
        std::string lines;
        for (std::size_t at = 0; at < text.size(); at += width) lines += text.substr(at, width) + line_break;
        EXPECT_TRUE(watch.holds(lines)) << lines;
      }
    }
  }
  EXPECT_FALSE(watch.holds(base64.substr(0, 40) + "-" + base64.substr(40))) << "the control: no layout";
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
  EXPECT_EQ(watch.reach(), all.back().size() * kMostRoom);
}

TEST_F(ReflectionWatchTest, OfALongOneByItsBeginning) {
  const std::string beginning(kMostSought, 'k');
  watch.look_for(beginning + "lmnopq");
  EXPECT_EQ(watch.reach(), kMostSought * kMostRoom) << "by its length alone";
  EXPECT_TRUE(watch.holds("x" + beginning + "lmnopq"));
  EXPECT_FALSE(watch.holds(beginning.substr(1)));
}

TEST_F(ReflectionWatchTest, OneOfEachSetOfSecretsHoweverManyLookForThem) {
  SharedWatches shared;
  std::vector<Wiped> one, both;
  one.emplace_back(std::string(kSecret));
  both.emplace_back(std::string("another-of-them-0123"));
  both.emplace_back(std::string(kSecret));
  EXPECT_EQ(shared.of({}, {}).reach(), 0U);
  {
    const ReflectionWatch first = shared.of({}, one), again = shared.of({}, one);
    EXPECT_TRUE(first.has_tables_of(again));
    EXPECT_TRUE(again.holds(kSecret));
    EXPECT_FALSE(again.holds("another-of-them-0123"));
    const ReflectionWatch more = shared.of(first, both), same = shared.of({}, both);
    EXPECT_FALSE(more.has_tables_of(first));
    EXPECT_TRUE(more.has_tables_of(same));
    EXPECT_TRUE(more.has_tables_of(shared.of(more, one))) << "what was looked for still is";
    EXPECT_TRUE(more.holds(kSecret) && more.holds("another-of-them-0123"));
    EXPECT_FALSE(first.holds("another-of-them-0123")) << "what is shared is left as it is";
    ReflectionWatch own = first;
    own.look_for("another-of-them-0123");
    EXPECT_TRUE(own.holds("another-of-them-0123"));
    EXPECT_FALSE(first.holds("another-of-them-0123"));
    EXPECT_EQ(shared.count(), 2U);
  }
  EXPECT_EQ(shared.count(), 0U) << "nobody's secrets are kept";
}

TEST(ReflectionTest, ALayoutMayBreakWhereItTakesTheSignBefore) {
  ReflectionWatch watch;
  const std::string secret = "user=joe;pass=s3cret\\0123";
  watch.look_for(secret);
  for (std::size_t at = 1; at < secret.size(); ++at) {
    EXPECT_TRUE(watch.holds("x " + secret.substr(0, at) + "\r\n" + secret.substr(at) + "\r\n")) << at;
    EXPECT_TRUE(watch.holds("x " + secret.substr(0, at) + "=\n" + secret.substr(at))) << at;
  }
  EXPECT_FALSE(watch.holds("x user joe;pass=s3cret\\0123"));
}

TEST(ReflectionTest, ItIsFoundInCapitals) {
  ReflectionWatch watch;
  watch.look_for("pa\\nword-\\r-0123456789");
  EXPECT_TRUE(watch.holds("PA\\NWORD-\\R-0123456789") && watch.holds("Pa\\nWord-\\r-0123456789"));
}

TEST(ReflectionTest, OfFormerValuesLessIsHeldBack) {
  SharedWatches shared;
  std::vector<Wiped> longer, own;
  longer.emplace_back(std::string(500, 'l') + "-0123456789");
  own.emplace_back(std::string(100, 'o') + "-0123456789");
  const ReflectionWatch former = shared.of_former(longer);
  EXPECT_EQ(former.reach(), kMostHeldOfFormer);
  EXPECT_TRUE(former.holds(longer[0].view()));
  EXPECT_EQ(shared.of(former, own).reach(), own[0].view().size() * kMostRoom);
  EXPECT_EQ(shared.of(former, longer).reach(), longer[0].view().size() * kMostRoom) << "who has it himself";
  EXPECT_EQ(former.reach(), kMostHeldOfFormer) << "what is shared is left as it is";
}

// Each that the vault takes is found in clear, whatever stands around it.
TEST(ReflectionTest, WhatIsTooShortIsNotTaken) {
  for (const char* small : {"pass, w1", "ab\\ncdef", "a\\/bcdef", "x, y, z, 1", "12345=\\n", "abcdefg=", "abcdef==", "abcdefg\\", "nabcdefg", "r  abcdefg"}) EXPECT_FALSE(can_be_found(small)) << small;
  for (const std::string fine : {"abcdefgh", "abcdefgh=", "pass, w0rd", "abcdefgh\\", "a\\/bcdefg", "12345678\\n", "xvapi-01", "nvapi-012", "'quoted'"}) {
    ASSERT_TRUE(can_be_found(fine)) << fine;
    ReflectionWatch watch;
    watch.look_for(fine);
    for (const char* before : {"", "x", " ", "\n", "\"", ", ", "\\", "\\\\"}) {
      for (const char* behind : {"", "x", " ", "\n", "\r\n", "\"", ","}) EXPECT_TRUE(watch.holds(before + fine + behind)) << before << fine << behind;
    }
  }
}

}  // namespace
}  // namespace cay::vault
