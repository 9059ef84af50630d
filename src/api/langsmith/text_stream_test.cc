#include "api/langsmith/text_stream.h"

#include <gtest/gtest.h>

#include <random>

namespace cay::api::langsmith {
namespace {

// All that a client that knows nothing yet is sent, in one string.
std::string whole(std::string_view raw) { return codec::sanitised_utf8(raw); }

std::string random_raw(std::mt19937& random, std::size_t size) {
  static const std::string kAlphabet =
      "ab\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80\xED\xA0\xF4\xFF\x80\n";
  std::string raw;
  for (std::size_t i = 0; i < size; ++i) raw.push_back(kAlphabet[random() % kAlphabet.size()]);
  return raw;
}

// Property: a client that comes back at any offset that it may have counted gets exactly the rest.
// It does so from any mark, in pieces that are valid and lie end to end.
TEST(TextStreamTest, EveryReconnectGetsExactlyTheRest) {
  std::mt19937 random(11);  // NOLINT: a fixed seed, so that a failure comes again
  for (int round = 0; round < 400; ++round) {
    const std::string raw = random_raw(random, 30);
    const std::string all = whole(raw);
    std::vector<OffsetMark> marks{{0, 0}};
    TextStream first({}, 0);
    std::vector<TextPiece> ignored;
    for (std::size_t at = 0; at < raw.size(); ++at) {
      ASSERT_TRUE(first.feed(at, std::string_view(raw).substr(at, 1), ignored));
      if (first.at_mark()) marks.push_back(first.mark());
    }
    for (std::size_t wanted = 0; wanted <= all.size();
         wanted = codec::next_boundary(all, wanted + 1)) {
      for (const OffsetMark& mark : marks) {
        if (mark.sanitised > wanted) continue;
        TextStream again(mark, wanted);
        std::vector<TextPiece> got;
        const std::size_t cut = mark.raw + (raw.size() - mark.raw) / 2;
        ASSERT_TRUE(
            again.feed(mark.raw, std::string_view(raw).substr(mark.raw, cut - mark.raw), got));
        ASSERT_TRUE(again.feed(cut, std::string_view(raw).substr(cut), got));
        again.finish(got);
        std::string text;
        for (const TextPiece& piece : got) {
          ASSERT_EQ(piece.offset, wanted + text.size());
          ASSERT_TRUE(codec::is_utf8(piece.text));
          text += piece.text;
        }
        ASSERT_EQ(text, all.substr(wanted));
      }
      if (wanted == all.size()) break;
    }
  }
}

TEST(TextStreamTest, LongTextIsCutAtCharacters) {
  std::string raw;
  while (raw.size() < 200'000) raw += "\xE2\x82\xAC";
  TextStream stream({}, 0);
  std::vector<TextPiece> got;
  ASSERT_TRUE(stream.feed(0, raw, got));
  std::string text;
  for (const TextPiece& piece : got) {
    EXPECT_LE(piece.text.size(), TextStream::kMaxPiece);
    EXPECT_EQ(piece.offset, text.size());
    EXPECT_TRUE(codec::is_utf8(piece.text));
    text += piece.text;
  }
  EXPECT_EQ(text, raw);
}

TEST(TextStreamTest, AnOffsetInsideACharacterBeginsAtTheNext) {
  TextStream stream({}, 2);
  std::vector<TextPiece> got;
  ASSERT_TRUE(stream.feed(0,
                          "a\xE2\x82\xAC"
                          "b",
                          got));
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].offset, 4u);
  EXPECT_EQ(got[0].text, "b");
}

TEST(TextStreamTest, BytesThatDoNotFollowAreRefused) {
  TextStream stream({}, 0);
  std::vector<TextPiece> got;
  EXPECT_FALSE(stream.feed(1, "x", got));
}

TEST(OffsetIndexTest, TheNearestMarkAtOrBefore) {
  constexpr std::uint64_t kMiB = 1 << 20;
  OffsetIndex index;
  for (std::uint64_t at = 1; at <= 5; ++at)
    index.add("k", Stream::kStdout, {at * kMiB, at * kMiB + at});
  index.add("k", Stream::kStdout, {5 * kMiB + 1, 5 * kMiB + 7});  // too near the last one
  EXPECT_EQ(index.find("k", Stream::kStdout, 0).raw, 0u);
  EXPECT_EQ(index.find("k", Stream::kStdout, 3 * kMiB + 3).raw, 3 * kMiB);
  EXPECT_EQ(index.find("k", Stream::kStdout, 3 * kMiB + 2).raw, 2 * kMiB);
  EXPECT_EQ(index.find("k", Stream::kStdout, 99 * kMiB).raw, 5 * kMiB);
  EXPECT_EQ(index.find("k", Stream::kStderr, 99 * kMiB).raw, 0u);
  EXPECT_EQ(index.find("other", Stream::kStdout, 99 * kMiB).raw, 0u);
  index.began("k");  // a new process under that id
  EXPECT_EQ(index.find("k", Stream::kStdout, 99 * kMiB).raw, 0u);
}

TEST(OffsetIndexTest, IsBounded) {
  OffsetIndex index;
  for (int i = 0; i < 10'000; ++i)
    index.add(std::to_string(i), Stream::kStdout, {1 << 21, 1 << 21});
  EXPECT_EQ(index.find("0", Stream::kStdout, 1 << 22).raw, 0u);
  EXPECT_EQ(index.find("9999", Stream::kStdout, 1 << 22).raw, std::uint64_t{1} << 21);
}

TEST(TextStreamTest, DroppedBytesAreSaidAndCounted) {
  TextStream stream({}, 0);
  std::vector<TextPiece> got;
  ASSERT_TRUE(stream.feed(0, "head\xC3", got));  // half a character: its rest is dropped
  ASSERT_TRUE(stream.skip(5, 1000, got));
  ASSERT_TRUE(stream.feed(1005, "tail", got));
  stream.finish(got);
  ASSERT_EQ(got.size(), 4U);
  EXPECT_EQ(got[0].text + got[1].text, "head\xEF\xBF\xBD");
  EXPECT_EQ(got[2].offset, 7U);
  EXPECT_NE(got[2].text.find("1000 bytes of output were dropped"), std::string::npos)
      << got[2].text;
  EXPECT_EQ(got[3].offset, 1007U);
  EXPECT_EQ(got[3].text, "tail");
  EXPECT_FALSE(stream.skip(5, 1000, got)) << "not where the last bytes ended";
}

TEST(TextStreamTest, WhoComesBackAfterAGapGetsTheRestAndInsideItANote) {
  const auto from = [](std::uint64_t wanted) {
    TextStream stream({}, wanted);
    std::vector<TextPiece> got;
    EXPECT_TRUE(stream.feed(0, "head", got));
    EXPECT_TRUE(stream.skip(4, 1000, got));
    EXPECT_TRUE(stream.feed(1004, "tail", got));
    return got;
  };
  auto got = from(1006);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].offset, 1006U);
  EXPECT_EQ(got[0].text, "il");
  got = from(904);  // it had 900 of the bytes that are gone now
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].offset, 904U);
  EXPECT_NE(got[0].text.find("100 bytes of output were dropped"), std::string::npos);
  EXPECT_EQ(got[1].offset, 1004U);
}

TEST(TextStreamTest, ANoteIsNeverLongerThanWhatItStandsFor) {
  for (std::uint64_t length = 1; length < 200; ++length) {
    TextStream stream({}, 0);
    std::vector<TextPiece> got;
    ASSERT_TRUE(stream.skip(0, length, got));
    ASSERT_EQ(got.size(), 1U);
    EXPECT_LE(got[0].text.size(), length);
  }
}

}  // namespace
}  // namespace cay::api::langsmith
