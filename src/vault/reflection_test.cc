#include "vault/reflection.h"

#include <gtest/gtest.h>

#include <optional>

#include "codec/base64.h"

namespace cay::vault {
namespace {

constexpr const char* kSecret = "sk-live-0123456789abcdef";

// All that is let through of `text`, cut into pieces of `size`; nothing: it was cut off.
std::optional<std::string> passed(const std::string& text, std::size_t size) {
  ReflectionWatch watch;
  watch.look_for(kSecret);
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += size) {
    auto piece = watch.pass(text.substr(at, size));
    if (!piece) {
      EXPECT_EQ(out.find(kSecret), std::string::npos);
      return std::nullopt;
    }
    out += *piece;
  }
  return out + watch.rest();
}

TEST(ReflectionWatchTest, ASecretIsFoundHoweverItIsCut) {
  const std::string text = std::string(100, 'x') + kSecret + std::string(100, 'y');
  for (std::size_t size = 1; size < text.size(); ++size) EXPECT_FALSE(passed(text, size)) << size;
}

TEST(ReflectionWatchTest, WhatIsNoSecretPassesWholeHoweverItIsCut) {
  const std::string secret(kSecret);
  const std::string text = "sk-live-" + secret.substr(0, secret.size() - 1) + "!" + secret.substr(1) + "sk-l" + secret.substr(0, 10);
  for (std::size_t size = 1; size <= text.size(); ++size) EXPECT_EQ(passed(text, size), text) << size;
}

TEST(ReflectionWatchTest, InBase64WhereverItStands) {
  for (std::size_t before = 0; before < 6; ++before) {
    for (std::size_t after = 0; after < 6; ++after) {
      const std::string text = codec::base64(std::string(before, 'u') + kSecret + std::string(after, 'v'));
      EXPECT_FALSE(passed("{\"echo\":\"" + text + "\"}", 7)) << before << " " << after;
    }
  }
  EXPECT_TRUE(passed(codec::base64("sk-live-another-value-altogether"), 7)) << "the control";
}

TEST(ReflectionWatchTest, NothingIsHeldBackWithoutNeed) {
  ReflectionWatch watch;
  watch.look_for(kSecret);
  EXPECT_EQ(watch.pass("data: {\"delta\":\"hello\"}\n\n"), "data: {\"delta\":\"hello\"}\n\n") << "an event goes on at once";
  EXPECT_EQ(watch.pass("and sk-li"), "and ");
  EXPECT_EQ(watch.pass("quid\n"), "sk-liquid\n");
  EXPECT_EQ(watch.rest(), "");
}

}  // namespace
}  // namespace cay::vault
