#include "vault/watched.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "codec/base64.h"

namespace cay::vault {
namespace {

using Kind = Seams::Kind;

constexpr const char* kSecret = "sk-live-0123456789abcdef";

class WatchedTest : public ::testing::Test {
 protected:
  WatchedTest() { watch.look_for(kSecret); }

  // All that is let through of `text`, cut into pieces of `size`, after each of which the server is silent; nothing: it
  // was cut off.
  std::optional<std::string> passed(const std::string& text, std::size_t size, Kind seams = Kind::kNone) {
    Watched watched(watch, seams);
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += size) {
      auto piece = watched.pass(text.substr(at, size));
      if (!piece) {
        EXPECT_EQ(out.find(kSecret), std::string::npos);
        let_out = out;
        return std::nullopt;
      }
      out += *piece;
      out += watched.release_to_seam();
    }
    return out + watched.release();
  }
  // How many bytes go on at each step.
  std::vector<std::size_t> sizes(const std::string& text, std::size_t size, std::size_t pause_every, Kind seams) {
    Watched watched(watch, seams);
    std::vector<std::size_t> out;
    for (std::size_t at = 0, step = 1; at < text.size(); at += size, ++step) {
      const auto piece = watched.pass(text.substr(at, size));
      out.push_back(piece ? piece->size() : std::string::npos);
      if (step % pause_every == 0) out.push_back(watched.release_to_seam().size());
    }
    out.push_back(watched.release().size());
    return out;
  }

  ReflectionWatch watch;
  std::string let_out;
};

TEST_F(WatchedTest, ASecretIsFoundHoweverItIsCut) {
  const std::string text = std::string(200, 'x') + kSecret + std::string(200, 'y');
  for (std::size_t size = 1; size < text.size(); size += 1 + size / 30) {
    EXPECT_FALSE(passed(text, size)) << size;
    EXPECT_EQ(let_out.find("sk"), std::string::npos) << size << ": not one byte of it";
  }
  EXPECT_FALSE(passed(codec::base64(text), 7));
}

TEST_F(WatchedTest, WhatIsNoSecretPassesWholeHoweverItIsCut) {
  const std::string secret(kSecret);
  const std::string text = "sk-live-" + secret.substr(0, secret.size() - 1) + "!" + secret.substr(1) + "sk-l" +
                           secret.substr(0, 10) + std::string(300, 's');
  for (std::size_t size = 1; size <= text.size(); size += 1 + size / 30) {
    EXPECT_EQ(passed(text, size), text) << size;
    EXPECT_EQ(passed(text, size, Kind::kLines), text) << size;
  }
}

TEST_F(WatchedTest, WhatIsHeldBackIsTheSameOfAnyContent) {
  const std::string secret(kSecret);
  std::mt19937 random(7);
  std::string noise, guesses;
  while (noise.size() < 700) noise += static_cast<char>(random() % 256);
  while (guesses.size() < 700) guesses += secret.substr(0, 1 + guesses.size() % (secret.size() - 1));
  const auto with_seams = [](std::string text) {  // lines and events end where they did
    for (char& c : text) c = c == '\n' || c == '\r' ? '.' : c;
    for (std::size_t at = 100; at + 1 < text.size(); at += 200) text[at] = text[at + 1] = '\n';
    return text;
  };
  for (const Kind seams : {Kind::kNone, Kind::kEvents, Kind::kLines}) {
    for (const std::size_t length : {std::size_t{3}, std::size_t{23}, std::size_t{700}}) {
      for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{300}}) {
        for (const std::size_t pause_every : {std::size_t{1}, std::size_t{3}, std::size_t{5000}}) {
          const auto of = [&](const std::string& text) { return sizes(with_seams(text), size, pause_every, seams); };
          const auto expected = of(noise.substr(0, length));
          EXPECT_EQ(of(std::string(length, 'x')), expected);
          EXPECT_EQ(of(guesses.substr(0, length)), expected);
          // What ends as far as a guess was right, for every guess.
          for (std::size_t right = 1; right < secret.size() && right <= length; right += seams == Kind::kNone ? 1 : 7) {
            EXPECT_EQ(of(noise.substr(0, length - right) + secret.substr(0, right)), expected)
                << length << " " << size << " " << pause_every << " " << right;
          }
        }
      }
    }
  }
}

TEST_F(WatchedTest, TheLastBytesAreHeldUntilMoreComesOrTheEnd) {
  Watched watched(watch);
  const std::size_t held = watch.reach() - 1;
  EXPECT_FALSE(watched.holds_back());
  EXPECT_EQ(watched.pass("data: hello\n\n"), "") << "all that is shorter";
  EXPECT_TRUE(watched.holds_back());
  EXPECT_FALSE(watched.holds_a_seam());
  EXPECT_EQ(watched.release_to_seam(), "") << "in a silence too";
  EXPECT_EQ(watched.pass(std::string(held, 'x')), "data: hello\n\n");
  EXPECT_EQ(watched.release(), std::string(held, 'x'));
  EXPECT_FALSE(watched.holds_back());
  EXPECT_EQ(watched.release(), "") << "once";
}

TEST_F(WatchedTest, ASilenceLetsGoUpToTheLastSeam) {
  Watched watched(watch, Kind::kEvents);
  EXPECT_EQ(watched.pass("data: one\n\ndata: tw"), "");
  EXPECT_TRUE(watched.holds_a_seam());
  EXPECT_EQ(watched.release_to_seam(), "data: one\n\n");
  EXPECT_FALSE(watched.holds_a_seam());
  EXPECT_EQ(watched.release_to_seam(), "") << "once";
  EXPECT_EQ(watched.pass("o\n"), "");
  EXPECT_FALSE(watched.holds_a_seam());
  EXPECT_EQ(watched.pass("\n"), "");
  EXPECT_EQ(watched.release_to_seam(), "data: two\n\n");
  EXPECT_FALSE(watched.holds_back());
  const std::string much(watch.reach() - 1, 'x');
  EXPECT_EQ(watched.pass("data: three\n\n" + much), "data: three\n\n");
  EXPECT_FALSE(watched.holds_a_seam()) << "what is before it has gone on";
}

TEST_F(WatchedTest, ASecretThatIsCutByAPauseIsNotLetOutUpToThere) {
  const std::string secret(kSecret);
  for (const Kind seams : {Kind::kNone, Kind::kEvents, Kind::kLines}) {
    for (std::size_t size = 1; size < secret.size(); ++size) {
      EXPECT_FALSE(passed("you sent: " + secret + "\n\n", size, seams)) << size;
      EXPECT_EQ(let_out.find("you"), std::string::npos) << size;
      EXPECT_FALSE(passed("data: one\n\nyou sent: " + secret, size, seams)) << size;
      EXPECT_EQ(let_out, seams == Kind::kNone ? "" : "data: one\n\n") << size << ": that is another event";
    }
  }
}

TEST_F(WatchedTest, AcrossASeamItIsCutBeforeItsEnd) {
  const std::string secret(kSecret);
  Watched watched(watch, Kind::kLines);
  EXPECT_EQ(watched.pass(secret.substr(0, 20) + "\n"), "");
  EXPECT_EQ(watched.release_to_seam(), secret.substr(0, 20) + "\n") << "as no server writes one";
  EXPECT_FALSE(watched.pass(secret.substr(20)));
}

TEST_F(WatchedTest, OfAWebSocketWhatMessagesSay) {
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
  EXPECT_TRUE(passed(frame(kBegin, half) + frame(kLast, rest), 9)) << "the control: as bytes it is none";
  Watched watched(watch, Kind::kMessages);
  EXPECT_EQ(watched.pass(frame(kWhole, half)), "");
  EXPECT_EQ(watched.release_to_seam(), frame(kWhole, half)) << "of two messages the first";
  EXPECT_FALSE(watched.pass(frame(kWhole, rest)));
}

TEST_F(WatchedTest, HoweverItIsLaidOut) {
  const std::string secret(kSecret), base64 = codec::base64("Bearer " + secret);
  std::string list = "[\n", lines, upper = secret;
  for (const char c : secret) list += "    " + std::to_string(static_cast<int>(c)) + ",\n";
  for (std::size_t at = 0; at < base64.size(); at += 10) lines += base64.substr(at, 10) + "\r\n ";
  for (char& c : upper) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  for (const std::string& text :
       {list, lines, upper, std::string(300, ' ') + upper, secret.substr(0, 9) + "=\r\n" + secret.substr(9)}) {
    for (std::size_t size = 1; size <= text.size(); ++size) {
      EXPECT_FALSE(passed(text, size)) << text << size;
      EXPECT_EQ(let_out.find_first_not_of(" "), std::string::npos) << text << size << ": nothing of it";
    }
  }
  std::string wide;  // at any length, but not without its beginning
  for (const char c : secret) wide += std::to_string(static_cast<int>(c)) + "," + std::string(1000, ' ');
  EXPECT_FALSE(passed(wide, 100));
}

TEST_F(WatchedTest, WhatIsLookedForMayComeToBeMore) {
  Watched watched(watch);
  EXPECT_EQ(watched.pass("xxx"), "");
  watch.look_for("another-secret-that-is-much-longer-than-the-first");
  EXPECT_EQ(watched.pass("another-secret-that-is-much"), "");
  EXPECT_FALSE(watched.pass("-longer-than-the-first"));
}

TEST(UnwatchedTest, NothingIsHeldBackWhereNothingIsLookedFor) {
  const ReflectionWatch none;
  Watched watched(none);
  EXPECT_EQ(watched.pass("all of it"), "all of it");
  EXPECT_FALSE(watched.holds_back());
  EXPECT_EQ(watched.release(), "");
}

}  // namespace
}  // namespace cay::vault
