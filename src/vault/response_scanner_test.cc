#include "vault/response_scanner.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "codec/base64.h"

namespace cay::vault {
namespace {

using Kind = MessageBoundaries::Kind;

constexpr const char* kSecret = "sk-live-0123456789abcdef";

class ResponseScannerTest : public ::testing::Test {
 protected:
  ResponseScannerTest() { secrets.add(kSecret); }

  // Returns what comes out of `text`, cut into pieces of `size`, with a pause behind each.
  // Returns nothing if the response was cut off.
  std::optional<std::string> passed(const std::string& text, std::size_t size,
                                    Kind boundaries = Kind::kNone) {
    ResponseScanner scanner(secrets, boundaries);
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += size) {
      auto piece = scanner.pass(text.substr(at, size));
      if (!piece) {
        EXPECT_EQ(out.find(kSecret), std::string::npos);
        let_out = out;
        return std::nullopt;
      }
      out += *piece;
      out += scanner.release_to_boundary();
    }
    return out + scanner.release();
  }
  // How many bytes go on at each step.
  std::vector<std::size_t> sizes(const std::string& text, std::size_t size, std::size_t pause_every,
                                 Kind boundaries) {
    ResponseScanner scanner(secrets, boundaries);
    std::vector<std::size_t> out;
    for (std::size_t at = 0, step = 1; at < text.size(); at += size, ++step) {
      const auto piece = scanner.pass(text.substr(at, size));
      out.push_back(piece ? piece->size() : std::string::npos);
      if (step % pause_every == 0) out.push_back(scanner.release_to_boundary().size());
    }
    out.push_back(scanner.release().size());
    return out;
  }

  SecretMatcher secrets;
  std::string let_out;
};

TEST_F(ResponseScannerTest, ASecretIsFoundHoweverItIsCut) {
  const std::string text = std::string(200, 'x') + kSecret + std::string(200, 'y');
  for (std::size_t size = 1; size < text.size(); size += 1 + size / 30) {
    EXPECT_FALSE(passed(text, size)) << size;
    EXPECT_EQ(let_out.find("sk"), std::string::npos) << size << ": not one byte of it";
  }
  EXPECT_FALSE(passed(codec::base64(text), 7));
}

TEST_F(ResponseScannerTest, WhatIsNoSecretPassesWholeHoweverItIsCut) {
  const std::string secret(kSecret);
  const std::string text = "sk-live-" + secret.substr(0, secret.size() - 1) + "!" +
                           secret.substr(1) + "sk-l" + secret.substr(0, 10) + std::string(300, 's');
  for (std::size_t size = 1; size <= text.size(); size += 1 + size / 30) {
    EXPECT_EQ(passed(text, size), text) << size;
    EXPECT_EQ(passed(text, size, Kind::kLines), text) << size;
  }
}

TEST_F(ResponseScannerTest, WhatIsHeldBackIsTheSameOfAnyContent) {
  const std::string secret(kSecret);
  std::mt19937 random(7);
  std::string noise, guesses;
  while (noise.size() < 700) noise += static_cast<char>(random() % 256);
  while (guesses.size() < 700)
    guesses += secret.substr(0, 1 + guesses.size() % (secret.size() - 1));
  const auto with_boundaries = [](std::string text) {  // lines and events end where they did
    for (char& c : text) c = c == '\n' || c == '\r' ? '.' : c;
    for (std::size_t at = 100; at + 1 < text.size(); at += 200) text[at] = text[at + 1] = '\n';
    return text;
  };
  for (const Kind boundaries : {Kind::kNone, Kind::kEvents, Kind::kLines}) {
    for (const std::size_t length : {std::size_t{3}, std::size_t{23}, std::size_t{700}}) {
      for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{300}}) {
        for (const std::size_t pause_every : {std::size_t{1}, std::size_t{3}, std::size_t{5000}}) {
          const auto of = [&](const std::string& text) {
            return sizes(with_boundaries(text), size, pause_every, boundaries);
          };
          const auto expected = of(noise.substr(0, length));
          EXPECT_EQ(of(std::string(length, 'x')), expected);
          EXPECT_EQ(of(guesses.substr(0, length)), expected);
          // A text that ends with the beginning of the secret, of every length.
          for (std::size_t right = 1; right < secret.size() && right <= length;
               right += boundaries == Kind::kNone ? 1 : 7) {
            EXPECT_EQ(of(noise.substr(0, length - right) + secret.substr(0, right)), expected)
                << length << " " << size << " " << pause_every << " " << right;
          }
        }
      }
    }
  }
}

TEST_F(ResponseScannerTest, TheLastBytesAreHeldUntilMoreComesOrTheEnd) {
  ResponseScanner scanner(secrets);
  const std::size_t held = secrets.longest() - 1;
  EXPECT_FALSE(scanner.holds_back());
  EXPECT_EQ(scanner.pass("data: hello\n\n"), "") << "all that is shorter";
  EXPECT_TRUE(scanner.holds_back());
  EXPECT_FALSE(scanner.holds_boundary());
  EXPECT_EQ(scanner.release_to_boundary(), "") << "in a silence too";
  EXPECT_EQ(scanner.pass(std::string(held, 'x')), "data: hello\n\n");
  EXPECT_EQ(scanner.release(), std::string(held, 'x'));
  EXPECT_FALSE(scanner.holds_back());
  EXPECT_EQ(scanner.release(), "") << "once";
}

TEST_F(ResponseScannerTest, APauseReleasesUpToTheLastBoundary) {
  ResponseScanner scanner(secrets, Kind::kEvents);
  EXPECT_EQ(scanner.pass("data: one\n\ndata: tw"), "");
  EXPECT_TRUE(scanner.holds_boundary());
  EXPECT_EQ(scanner.release_to_boundary(), "data: one\n\n");
  EXPECT_FALSE(scanner.holds_boundary());
  EXPECT_EQ(scanner.release_to_boundary(), "") << "once";
  EXPECT_EQ(scanner.pass("o\n"), "");
  EXPECT_FALSE(scanner.holds_boundary());
  EXPECT_EQ(scanner.pass("\n"), "");
  EXPECT_EQ(scanner.release_to_boundary(), "data: two\n\n");
  EXPECT_FALSE(scanner.holds_back());
  const std::string much(secrets.longest() - 1, 'x');
  EXPECT_EQ(scanner.pass("data: three\n\n" + much), "data: three\n\n");
  EXPECT_FALSE(scanner.holds_boundary()) << "what is before it has gone on";
}

TEST_F(ResponseScannerTest, ASecretThatIsCutByAPauseIsNotLetOutUpToThere) {
  const std::string secret(kSecret);
  for (const Kind boundaries : {Kind::kNone, Kind::kEvents, Kind::kLines}) {
    for (std::size_t size = 1; size < secret.size(); ++size) {
      EXPECT_FALSE(passed("you sent: " + secret + "\n\n", size, boundaries)) << size;
      EXPECT_EQ(let_out.find("you"), std::string::npos) << size;
      EXPECT_FALSE(passed("data: one\n\nyou sent: " + secret, size, boundaries)) << size;
      EXPECT_EQ(let_out, boundaries == Kind::kNone ? "" : "data: one\n\n")
          << size << ": that is another event";
    }
  }
}

TEST_F(ResponseScannerTest, AcrossABoundaryItIsCutBeforeItsEnd) {
  const std::string base64 = codec::base64(kSecret);
  ResponseScanner scanner(secrets, Kind::kLines);
  EXPECT_EQ(scanner.pass(base64.substr(0, 20) + "\n"), "");
  EXPECT_EQ(scanner.release_to_boundary(), base64.substr(0, 20) + "\n") << "it claims to be JSON";
  EXPECT_FALSE(scanner.pass(base64.substr(20)));
}

TEST_F(ResponseScannerTest, OfAWebSocketWhatMessagesSay) {
  const auto frame = [](int first, const std::string& text) {
    return std::string{static_cast<char>(first), static_cast<char>(text.size())} + text;
  };
  const std::string secret(kSecret), half = secret.substr(0, 12), rest = secret.substr(12);
  constexpr int kWhole = 0x81, kBegin = 0x01, kLast = 0x80, kPong = 0x8a;
  for (const std::string& text : {
           frame(kWhole, secret),
           frame(kBegin, half) + frame(kLast, rest),
           frame(kBegin, half) + frame(kPong, "asked for") + frame(kLast, rest),
           frame(kPong, secret),
           frame(kBegin, "x") + frame(kPong, secret),
       }) {
    for (std::size_t size = 1; size <= text.size(); ++size) {
      EXPECT_FALSE(passed(frame(kWhole, "hi") + text, size, Kind::kMessages)) << size;
      EXPECT_TRUE(frame(kWhole, "hi").starts_with(let_out)) << size << ": nothing of it";
    }
  }
  EXPECT_TRUE(passed(frame(kBegin, half) + frame(kLast, rest), 9))
      << "the control: as bytes it is none";
  ResponseScanner scanner(secrets, Kind::kMessages);
  EXPECT_EQ(scanner.pass(frame(kWhole, half)), "");
  EXPECT_EQ(scanner.release_to_boundary(), frame(kWhole, half)) << "of two messages the first";
  EXPECT_FALSE(scanner.pass(frame(kWhole, rest)));
}

TEST_F(ResponseScannerTest, InEachEncodingHoweverItIsCut) {
  const std::string secret(kSecret), base64 = codec::base64("Bearer " + secret);
  std::string lines, percent, json;
  for (std::size_t at = 0; at < base64.size(); at += 10) lines += base64.substr(at, 10) + "\r\n ";
  for (const char c : secret) {
    char one[8];
    std::snprintf(one, sizeof one, "%%%02x", static_cast<unsigned>(c));
    percent += one;
    std::snprintf(one, sizeof one, "\\u%04x", static_cast<unsigned>(c));
    json += one;
  }
  for (const std::string& text : {lines, percent, json, std::string(300, ' ') + json}) {
    for (std::size_t size = 1; size <= text.size(); ++size) {
      EXPECT_FALSE(passed(text, size)) << text << size;
      EXPECT_EQ(let_out.find_first_not_of(" "), std::string::npos)
          << text << size << ": no byte of it";
    }
  }
}

TEST_F(ResponseScannerTest, WhatIsLookedForMayComeToBeMore) {
  ResponseScanner scanner(secrets);
  EXPECT_EQ(scanner.pass("xxx"), "");
  secrets.add("another-secret-that-is-much-longer-than-the-first");
  EXPECT_EQ(scanner.pass("another-secret-that-is-much"), "");
  EXPECT_FALSE(scanner.pass("-longer-than-the-first"));
}

TEST(NoSecretTest, NothingIsHeldBackWhereNothingIsLookedFor) {
  const SecretMatcher none;
  ResponseScanner scanner(none);
  EXPECT_EQ(scanner.pass("all of it"), "all of it");
  EXPECT_FALSE(scanner.holds_back());
  EXPECT_EQ(scanner.release(), "");
}

}  // namespace
}  // namespace cay::vault
