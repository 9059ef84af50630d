#include "vault/secret_encodings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "codec/base64.h"
#include "codec/json.h"

namespace cay::vault {
namespace {

// Every kind of character that some encoder escapes.
constexpr const char* kOdd = "s/k \"a\\b'<c>&d=e+f`g~*(h)";

bool has(std::string_view secret, std::string_view text) {
  const SecretEncodings encodings(secret);
  for (; !text.empty(); text.remove_prefix(1)) {
    const auto begins = [&](const auto& pattern) { return encodings.begins(text, pattern); };
    if (std::ranges::any_of(encodings.patterns(), begins)) return true;
  }
  return false;
}

TEST(SecretEncodingsTest, AsItIs) {
  EXPECT_TRUE(has(kOdd, kOdd));
  EXPECT_TRUE(has(kOdd, std::string("you sent: ") + kOdd + "!"));
  EXPECT_FALSE(has(kOdd, std::string(kOdd).substr(1))) << "a part is not the secret";
  EXPECT_FALSE(has(kOdd, "")) << "nor is nothing";
}

TEST(SecretEncodingsTest, PercentEncodedWhateverTheEncoderEscapes) {
  for (const char* text : {
           "s%2Fk%20%22a%5Cb%27%3Cc%3E%26d%3De%2Bf%60g~%2A%28h%29",
           "s%2fk%20%22a%5cb%27%3cc%3e%26d%3de%2bf%60g~%2a%28h%29",
           "s%2Fk+%22a%5Cb%27%3Cc%3E%26d%3De%2Bf%60g%7E*%28h%29",
           "s/k%20%22a%5Cb'%3Cc%3E&d=e+f%60g~*(h)",
           "%73%2f%6b%20%22%61%5c%62%27%3c%63%3e%26%64%3d%65%2b%66%60%67%7e%2a%28%68%29",
       }) {
    EXPECT_TRUE(has(kOdd, text)) << text;
    EXPECT_TRUE(has(kOdd, std::string("%4") + text)) << "whatever stands before: " << text;
    EXPECT_FALSE(has("s/k another", text)) << "the control: " << text;
  }
  EXPECT_TRUE(has("100%-sure%41", "100%25-sure%2541"));
  EXPECT_TRUE(has("100%-sure%41", "100%-sure%41"));
}

TEST(SecretEncodingsTest, InAStringOfJsonWhateverTheEncoderEscapes) {
  for (const char* text : {
           R"(s/k \"a\\b'<c>&d=e+f`g~*(h))",
           R"(s\/k \"a\\b'<c>&d=e+f`g~*(h))",
           R"(s/k \"a\\b\u0027\u003cc\u003e\u0026d\u003de+f`g~*(h))",
           R"(s\u002Fk \u0022a\\b\u0027\u003Cc\u003E\u0026d=e\u002Bf\u0060g~*(h))",
       }) {
    EXPECT_TRUE(has(kOdd, text)) << text;
    EXPECT_TRUE(has(kOdd, std::string("\\") + text)) << "whatever stands before: " << text;
    EXPECT_FALSE(has("s/k another", text)) << "the control: " << text;
  }
  EXPECT_TRUE(has(kOdd, codec::write(codec::json::object{{"echo", std::string("see ") + kOdd}})));
  EXPECT_TRUE(has("sk-live*", R"(\u0073\u006b\u002d\u006C\u0069\u0076\u0065\u002A)"));
  EXPECT_FALSE(has("sk-live+", R"(\u0073\u006b\u002d\u006C\u0069\u0076\u0065\u002A)"));
}

TEST(SecretEncodingsTest, InBase64WhereverItStands) {
  const std::string secret = "sk->?>?~~live";
  for (std::size_t before = 0; before < 6; ++before) {
    for (std::size_t after = 0; after < 6; ++after) {
      std::string text = codec::base64(std::string(before, 'u') + secret + std::string(after, 'v'));
      EXPECT_TRUE(has(secret, text)) << before << " " << after;
      std::string json, percent;
      for (const char c : text) {
        json += c == '/' ? "\\/" : c == '+' ? "\\u002B" : std::string(1, c);
        percent += c == '/' ? "%2F" : c == '+' ? "%2B" : c == '=' ? "%3D" : std::string(1, c);
      }
      EXPECT_TRUE(has(secret, json)) << json;
      EXPECT_TRUE(has(secret, percent)) << percent;
      std::ranges::replace(text, '+', '-');
      std::ranges::replace(text, '/', '_');
      EXPECT_TRUE(has(secret, text)) << before << " " << after << ", the alphabet for URLs";
    }
  }
  EXPECT_FALSE(has(secret, codec::base64("sk->?>?~~dead and gone"))) << "the control";
}

TEST(SecretEncodingsTest, InBase64HoweverItsLinesAreBroken) {
  const std::string secret = "sk-live-0123456789abcdef";
  for (const std::size_t width : {std::size_t{1}, std::size_t{20}, std::size_t{64}}) {
    for (const char* line_break : {"\n", "\r\n", "\\n", "\\r\\n", "%0A", "\n  ", "\r\n\t"}) {
      for (std::size_t before = 0; before < 70; ++before) {
        const std::string text = codec::base64(std::string(before, 'u') + secret);
        std::string lines;
        for (std::size_t at = 0; at < text.size(); at += width)
          lines += text.substr(at, width) + line_break;
        // A line for each letter takes more room than is held back where the break is long.
        const bool fits = width > 1 || std::string_view(line_break).size() < 4;
        if (fits) EXPECT_TRUE(has(secret, lines)) << lines;
      }
    }
  }
  EXPECT_FALSE(has(secret, secret.substr(0, 9) + "\n" + secret.substr(9)))
      << "white space counts outside base64";
}

TEST(SecretEncodingsTest, NothingElseIsCovered) {
  const std::string secret = "sk-live-0123456789abcdef";
  const std::string again = codec::base64(codec::base64("user:" + secret));
  for (const std::string& text : {
           std::string("SK-LIVE-0123456789ABCDEF"),
           std::string("736b2d6c6976652d303132333435363738396162636465 66"),
           std::string("&#115;k-live-0123456789abcdef"),
           std::string("%2573k-live-0123456789abcdef"),
           std::string("\\x73k-live-0123456789abcdef"),
           again,
       }) {
    EXPECT_FALSE(has(secret, text)) << text;
  }
}

TEST(SecretEncodingsTest, OfALongSecretTheBeginning) {
  const std::string beginning(kMostSought, 'k');
  const SecretEncodings encodings(beginning + "lmnopq");
  EXPECT_EQ(encodings.longest(), kMostSought * kMostGrowth);
  EXPECT_TRUE(has(beginning + "lmnopq", "x" + beginning));
  EXPECT_FALSE(has(beginning + "lmnopq", beginning.substr(1)));
}

TEST(SecretEncodingsTest, WhatTakesMoreRoomIsNotLookedFor) {
  const SecretEncodings encodings("sk-live*");
  EXPECT_EQ(encodings.longest(), 8 * kMostGrowth);
  const std::string letters = codec::base64("sk-live*").substr(0, 10);
  const auto spread = [&](std::size_t blanks) {
    return letters.substr(0, 9) + std::string(blanks, ' ') + letters.substr(9);
  };
  EXPECT_TRUE(has("sk-live*", spread(encodings.longest() - 10)));
  EXPECT_FALSE(has("sk-live*", spread(encodings.longest() - 9)));
}

}  // namespace
}  // namespace cay::vault
