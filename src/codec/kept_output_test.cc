#include "codec/kept_output.h"

#include <gtest/gtest.h>

#include <random>

#include "codec/utf8.h"

namespace cay::codec {
namespace {

// The stream in pieces of random lengths.
KeptOutput::Kept kept(const std::string& stream, std::uint64_t most, std::uint64_t from = 0) {
  std::mt19937 random(7);
  KeptOutput out(most);
  for (std::size_t at = 0; at < stream.size();) {
    const std::string piece = stream.substr(at, 1 + random() % 700);
    out.add(from + at, piece);
    at += piece.size();
    EXPECT_LE(out.held(), most);
  }
  return out.take();
}

// The gap is true: without the note, and with the bytes that are left out, this is the stream.
void expect_whole(const KeptOutput::Kept& got, const std::string& stream, std::uint64_t from = 0) {
  ASSERT_TRUE(got.gap);
  const auto& gap = *got.gap;
  EXPECT_EQ(gap.offset, from + gap.at);
  const std::string head = got.bytes.substr(0, gap.at);
  const std::string tail = got.bytes.substr(gap.at + gap.note_bytes);
  EXPECT_EQ(head + stream.substr(gap.at, gap.length) + tail, stream);
}

TEST(KeptOutputTest, WhatFitsIsWhole) {
  for (const std::size_t size : {0u, 1u, 500u, 999u, 1000u}) {
    const std::string stream(size, 'x');
    const auto got = kept(stream, 1000);
    EXPECT_EQ(got.bytes, stream);
    EXPECT_FALSE(got.gap);
  }
}

TEST(KeptOutputTest, TheEndIsKeptAndTheGapIsMarked) {
  std::string stream;
  for (int i = 0; i < 5000; ++i) stream += "line " + std::to_string(i) + "\n";
  stream += "error: the last line";
  for (const std::uint64_t most : {256u, 1000u, 4096u, 20'000u}) {
    const auto got = kept(stream, most, 123);
    EXPECT_EQ(got.bytes.size(), most);
    EXPECT_TRUE(got.bytes.starts_with("line 0\n"));
    EXPECT_TRUE(got.bytes.ends_with("error: the last line"));
    expect_whole(got, stream, 123);
    const std::string left_out = std::to_string(got.gap->length);
    EXPECT_EQ(got.bytes.substr(got.gap->at, got.gap->note_bytes),
              "\n[cay: " + left_out + " bytes of output are left out here]\n");
  }
  const auto one_more = kept(std::string(1001, 'x'), 1000);
  EXPECT_EQ(one_more.bytes.size(), 999u) << "room for a number of three digits, and it has two";
  expect_whole(one_more, std::string(1001, 'x'));
}

TEST(KeptOutputTest, OfVeryLittleTheBeginningIsKeptWithoutANote) {
  for (const std::uint64_t most : {0u, 10u, 255u}) {
    const auto got = kept(std::string(3000, 'x'), most);
    EXPECT_EQ(got.bytes, std::string(most, 'x'));
    ASSERT_TRUE(got.gap);
    EXPECT_EQ(got.gap->offset, most);
    EXPECT_EQ(got.gap->length, 3000 - most);
    EXPECT_EQ(got.gap->note_bytes, 0u);
  }
}

TEST(KeptOutputTest, NoCharacterIsCut) {
  for (const std::string character : {"\xC3\xA4", "\xE2\x98\x95", "\xF0\x9F\x98\x80"}) {
    for (std::uint64_t most = 300; most < 330; ++most) {
      std::string stream(most % 4, 'x');
      for (int i = 0; i < 3000; ++i) stream += character;
      const auto got = kept(stream, most);
      EXPECT_TRUE(is_utf8(got.bytes)) << most;
      EXPECT_EQ(got.bytes.find(kReplacement), std::string::npos);
      EXPECT_GT(got.bytes.size(), most - 8);
      expect_whole(got, stream);
    }
  }
}

TEST(KeptOutputTest, BytesThatAreNoTextStayWhatTheyAre) {
  std::mt19937 random(9);
  std::string stream;
  for (int i = 0; i < 50'000; ++i) stream += static_cast<char>(random());
  expect_whole(kept(stream, 4096), stream);
}

TEST(KeptOutputTest, GapsOfTheStreamAreOneGap) {
  KeptOutput out(1000);
  out.add(0, "begin\xE2\x98");  // a full spool cuts where it is full
  out.add_gap(7, 100);
  out.add(107, "between");
  out.add_gap(114, 50);
  out.add(164,
          "\x95"
          "end");
  const auto got = out.take();
  const std::string note = "\n[cay: 160 bytes of output are left out here]\n";
  EXPECT_EQ(got.bytes, "begin" + note + "end");
  ASSERT_TRUE(got.gap);
  EXPECT_EQ(got.gap->offset, 5u);
  EXPECT_EQ(got.gap->length, 160u);
  EXPECT_EQ(got.gap->at, 5u);
  EXPECT_EQ(got.gap->note_bytes, note.size());
}

TEST(KeptOutputTest, AGapMayBeFirstOrLast) {
  KeptOutput first(1000);
  first.add_gap(40, 60);
  first.add(100, "end");
  const auto got = first.take();
  EXPECT_EQ(got.bytes, "\n[cay: 60 bytes of output are left out here]\nend");
  EXPECT_EQ(got.gap->offset, 40u);
  EXPECT_EQ(got.gap->at, 0u);
  KeptOutput last(1000);
  last.add(0, "begin");
  last.add_gap(5, 60);
  EXPECT_EQ(last.take().bytes, "begin\n[cay: 60 bytes of output are left out here]\n");
}

}  // namespace
}  // namespace cay::codec
