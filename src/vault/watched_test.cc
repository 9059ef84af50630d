#include "vault/watched.h"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <vector>

#include "codec/base64.h"

namespace cay::vault {
namespace {

constexpr const char* kSecret = "sk-live-0123456789abcdef";

class WatchedTest : public ::testing::Test {
 protected:
  WatchedTest() { watch.look_for(kSecret); }

  // All that is let through of `text`, cut into pieces of `size`; nothing: it was cut off. `pauses`: the server is
  // silent after each piece.
  std::optional<std::string> passed(const std::string& text, std::size_t size, bool pauses = false) {
    Watched watched(watch);
    std::string out;
    for (std::size_t at = 0; at < text.size(); at += size) {
      auto piece = watched.pass(text.substr(at, size));
      if (!piece) {
        EXPECT_EQ(out.find(kSecret), std::string::npos);
        let_out = out;
        return std::nullopt;
      }
      out += *piece;
      if (pauses) out += watched.release();
    }
    return out + watched.release();
  }
  // How many bytes go on at each step.
  std::vector<std::size_t> sizes(const std::string& text, std::size_t size, std::size_t pause_every) {
    Watched watched(watch);
    std::vector<std::size_t> out;
    for (std::size_t at = 0, step = 1; at < text.size(); at += size, ++step) {
      const auto piece = watched.pass(text.substr(at, size));
      out.push_back(piece ? piece->size() : std::string::npos);
      if (step % pause_every == 0) out.push_back(watched.release().size());
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
    EXPECT_EQ(passed(text, size, true), text) << size;
  }
}

TEST_F(WatchedTest, WhatIsHeldBackIsTheSameOfAnyContent) {
  const std::string secret(kSecret);
  std::mt19937 random(7);
  std::string noise, guesses;
  while (noise.size() < 400) noise += static_cast<char>(random() % 256);
  while (guesses.size() < 400) guesses += secret.substr(0, 1 + guesses.size() % (secret.size() - 1));
  for (const std::size_t length : {std::size_t{3}, std::size_t{23}, std::size_t{400}}) {
    for (const std::size_t size : {std::size_t{1}, std::size_t{7}, std::size_t{300}}) {
      for (const std::size_t pause_every : {std::size_t{1}, std::size_t{3}, std::size_t{5000}}) {
        const auto expected = sizes(noise.substr(0, length), size, pause_every);
        EXPECT_EQ(sizes(std::string(length, 'x'), size, pause_every), expected);
        EXPECT_EQ(sizes(guesses.substr(0, length), size, pause_every), expected);
        // What ends as far as a guess was right, for every guess.
        for (std::size_t right = 1; right < secret.size() && right <= length; ++right) {
          const std::string text = noise.substr(0, length - right) + secret.substr(0, right);
          EXPECT_EQ(sizes(text, size, pause_every), expected)
              << length << " " << size << " " << pause_every << " " << right;
        }
      }
    }
  }
}

TEST_F(WatchedTest, TheLastBytesAreHeldUntilMoreComesOrNothingDoes) {
  Watched watched(watch);
  const std::size_t held = watch.longest() - 1;
  EXPECT_FALSE(watched.holds_back());
  EXPECT_EQ(watched.pass("data: hello\n\n"), "") << "all that is shorter";
  EXPECT_TRUE(watched.holds_back());
  EXPECT_EQ(watched.pass(std::string(held, 'x')), "data: hello\n\n");
  EXPECT_EQ(watched.release(), std::string(held, 'x'));
  EXPECT_FALSE(watched.holds_back());
  EXPECT_EQ(watched.release(), "") << "once";
  EXPECT_EQ(watched.pass("yy"), "");
  EXPECT_EQ(watched.pass(std::string(held, 'z')), "yy");
}

TEST_F(WatchedTest, ASecretThatIsCutByAPauseIsStillCutBeforeItsEnd) {
  const std::string secret(kSecret);
  for (std::size_t size = 1; size < secret.size(); ++size) {
    EXPECT_FALSE(passed("you sent " + secret, size, true)) << size;
    EXPECT_EQ(let_out.find(secret), std::string::npos);
  }
  Watched watched(watch);
  watched.pass(secret.substr(0, 20));
  EXPECT_EQ(watched.release(), secret.substr(0, 20));
  EXPECT_FALSE(watched.pass(secret.substr(20)));
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
