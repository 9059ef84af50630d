#include "vault/websocket_frames.h"

#include <gtest/gtest.h>

namespace cay::vault {
namespace {

struct Heard {
  std::string text, asides;
  std::uint64_t end = 0;
  bool operator==(const Heard&) const = default;
};

// However it is cut.
Heard heard(const std::string& bytes) {
  std::optional<Heard> first;
  for (std::size_t size = 1; size <= bytes.size(); size += 1 + size / 20) {
    WebsocketFrames frames;
    Heard one;
    for (std::size_t at = 0; at < bytes.size(); at += size)
      frames.read(std::string_view(bytes).substr(at, size), one.text, one.asides);
    one.end = frames.last_end();
    if (!first) first = one;
    EXPECT_TRUE(one == *first) << size;
  }
  return first.value_or(Heard());
}

std::string frame(unsigned first, const std::string& text) {
  std::string out(1, static_cast<char>(first));
  const std::size_t size = text.size();
  const int more = size < 126 ? 0 : size <= 0xffff ? 2 : 8;
  out += static_cast<char>(more == 0 ? size : more == 2 ? 126 : 127);
  for (int at = more - 1; at >= 0; --at) out += static_cast<char>(size >> (8 * at) & 0xff);
  return out + text;
}

constexpr unsigned kText = 0x81, kBegin = 0x01, kMore = 0x00, kLast = 0x80, kPing = 0x89,
                   kClose = 0x88;

TEST(WebsocketFramesTest, AMessageEndsWithItsLastFrame) {
  const std::string one = frame(kText, "one"), two = frame(0x82, std::string(300, 'x')),
                    three = frame(kText, std::string(70'000, 'y'));
  EXPECT_EQ(heard(one + two + three),
            (Heard{"one" + std::string(300, 'x') + std::string(70'000, 'y'), "",
                   (one + two + three).size()}));
  EXPECT_EQ(heard(one + two.substr(0, two.size() - 1)),
            (Heard{"one" + std::string(299, 'x'), "", one.size()}))
      << "one that is not whole";
  EXPECT_EQ(heard(frame(kText, "") + one.substr(0, 2)), (Heard{"", "", 2}));
}

TEST(WebsocketFramesTest, WhatIsSaidInSeveralFramesIsOneText) {
  const std::string begin = frame(kText, "a") + frame(kBegin, "sk-live");
  EXPECT_EQ(heard(begin + frame(kPing, "alive?") + frame(kMore, "-0123")),
            (Heard{"ask-live-0123", "alive?", 3}))
      << "no message ended";
  const std::string all =
      begin + frame(kPing, "alive?") + frame(kMore, "-0123") + frame(kLast, "4567");
  EXPECT_EQ(heard(all), (Heard{"ask-live-01234567", "alive?", all.size()}));
  EXPECT_EQ(heard(all + frame(kClose, "\x03\xe8why")),
            (Heard{"ask-live-01234567", "alive?\x03\xe8why", all.size() + 7}));
}

TEST(WebsocketFramesTest, BehindWhatIsNoFrameOfAServersNothingEnds) {
  const std::string one = frame(kText, "one");
  for (const std::string& wrong : {
           std::string("\x81\x83mask", 6),  // masked
           std::string("\xc1\x01x"),        // packed
           std::string("\x83\x01x"),
           std::string("\x8b\x01x"),  // of no known kind
           std::string("\x09\x01x"),
           std::string("\x89\x7e\x01x"),             // a control frame in parts, or a long one
           std::string("\x80\x01x"),                 // goes on with nothing
           std::string("\x81\x7e\x00\x05hello", 9),  // a length in more bytes than it needs
           std::string("\x81\x7f\x80\x00\x00\x00\x00\x00\x00\x00", 10),
           std::string("HTTP/1.1 "),
       }) {
    const Heard got = heard(one + wrong + one);
    EXPECT_EQ(got.end, one.size()) << wrong;
    EXPECT_TRUE(got.text.ends_with("\x81\x03one")) << wrong << ": it is text as it is";
  }
  const std::string begun = frame(kBegin, "begun");
  EXPECT_EQ(heard(one + begun + one).end, one.size()) << "another begins within it";
}

}  // namespace
}  // namespace cay::vault
