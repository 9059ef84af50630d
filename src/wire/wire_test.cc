// Frames, messages and the spool's layout: what goes in comes out, and nonsense is refused.
#include <gtest/gtest.h>

#include <random>

#include "wire/frame.h"
#include "wire/messages.h"
#include "wire/start_identity.h"
#include "wire/spool_layout.h"

namespace cay::wire {
namespace {

TEST(FrameTest, AnyCutGivesTheSameFrames) {
  std::string bytes;
  for (unsigned i = 0; i < 50; ++i) {
    Frame frame;
    frame.type = static_cast<std::uint16_t>(i);
    frame.channel = i * 7;
    frame.payload = std::string(i * 1000, static_cast<char>('a' + i % 26));
    bytes += encode_frame(frame);
  }
  for (const std::size_t step :
       {std::size_t{1}, std::size_t{11}, std::size_t{4096}, bytes.size()}) {
    FrameReader reader;
    unsigned seen = 0;
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      reader.feed(std::string_view(bytes).substr(at, step));
      while (auto frame = reader.next()) {
        EXPECT_EQ(frame->channel, seen * 7);
        EXPECT_EQ(frame->payload.size(), seen * 1000);
        ++seen;
      }
    }
    EXPECT_EQ(seen, 50U);
    EXPECT_EQ(reader.buffered(), 0U);
  }
}

TEST(FrameTest, ALengthOutOfRangeIsBadForEver) {
  for (const std::uint32_t length : {0U, 7U, kMaxPayload + 9U, 0xffffffffU}) {
    FrameReader reader;
    std::string bytes;
    for (int i = 0; i < 4; ++i) bytes.push_back(static_cast<char>((length >> (8 * i)) & 0xff));
    reader.feed(bytes + std::string(100, '\0'));
    EXPECT_FALSE(reader.next());
    EXPECT_TRUE(reader.bad());
  }
}

TEST(FrameTest, DataKeepsItsOffsetAndFlag) {
  Data data;
  data.stream = 2;
  data.after_end = true;
  data.offset = 0x1234567890abcdefULL;
  data.bytes = "xyz";
  const std::string bytes = encode_data(data);
  const auto got = decode_data(bytes);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->stream, 2);
  EXPECT_TRUE(got->after_end);
  EXPECT_EQ(got->offset, data.offset);
  EXPECT_EQ(got->bytes, "xyz");
  EXPECT_FALSE(decode_data(std::string_view(bytes).substr(0, 9)));
}

CommandMsg sample() {
  CommandMsg message;
  message.command_id = "id";
  message.argv = {"a", "", "c d"};
  message.exit_code = -1;
  message.state = 7;
  message.out.bytes = 1ULL << 40;
  message.err.ring_size = 5;
  return message;
}

TEST(MessageTest, RoundTrips) {
  const auto got = decode<CommandMsg>(encode(sample()));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->argv, sample().argv);
  EXPECT_EQ(got->exit_code, -1);
  EXPECT_EQ(got->out.bytes, 1ULL << 40);
  EXPECT_EQ(got->err.ring_size, 5U);
}

struct CreatedOfBefore {
  std::string sandbox_id, policy;
  template <class V>
  void fields(V& v) {
    v(1, sandbox_id);
    v(5, policy);
  }
};

// A peer without profiles skips the member, and is recognised by sending none.
TEST(MessageTest, AProfileIsAskedForAndSaid) {
  CreateSandbox asked;
  asked.profile = "strict";
  EXPECT_EQ(decode<CreateSandbox>(encode(asked))->profile, "strict");
  EXPECT_EQ(decode<CreateSandbox>(encode(CreateSandbox{}))->profile, "");
  EXPECT_EQ(decode<Created>(encode(CreatedOfBefore{"id", "off"}))->profile, "");
  Created said;
  said.sandbox_id = "id";
  said.profile = "nested";
  EXPECT_EQ(decode<Created>(encode(said))->profile, "nested");
  EXPECT_EQ(decode<CreatedOfBefore>(encode(said))->sandbox_id, "id");
}

TEST(MessageTest, UnknownTagsAreSkippedAndCutOnesRefused) {
  const std::string bytes = encode(sample());
  const std::string unknown("\x99\x7f\x03\x00\x00\x00zzz", 9);
  ASSERT_TRUE(decode<CommandMsg>(unknown + bytes));
  EXPECT_EQ(decode<CommandMsg>(unknown + bytes)->argv.size(), 3U);
  int whole = 0;
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    if (decode<CommandMsg>(std::string_view(bytes).substr(0, cut))) ++whole;
  }
  constexpr int kMembers = 29;
  EXPECT_LE(whole, kMembers + 1);  // only cuts between members are still messages
}

TEST(MessageTest, AppendedRecordsReadAsOne) {
  CommandMsg later = sample();
  later.argv = {};
  later.state = 2;
  later.exit_code = 3;
  later.out.bytes = 9;
  const auto got = decode<CommandMsg>(encode(sample()) + encode(later));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->argv, sample().argv);
  EXPECT_EQ(got->exit_code, 3);
  EXPECT_EQ(got->out.bytes, 9U);
}

TEST(MessageTest, MutatedBytesNeverCrash) {
  std::minstd_rand random(3);
  const std::string bytes = encode(sample());
  for (int i = 0; i < 20'000; ++i) {
    std::string bad = bytes;
    for (int n = 0; n < 3; ++n) bad[random() % bad.size()] = static_cast<char>(random());
    if (const auto got = decode<CommandMsg>(bad)) {
      EXPECT_LE(got->argv.size(), 70U);
    }
    decode<StartCommand>(bad);
    decode<FileOp>(bad);
  }
}

TEST(SpoolLayoutTest, LinearThenHeadGapAndRing) {
  ExtentMsg stream;
  stream.bytes = 100;
  auto piece = locate(stream, 40, 1000);
  EXPECT_EQ(piece.kind, SpoolPiece::Kind::kData);
  EXPECT_EQ(piece.file_position, 40U);
  EXPECT_EQ(piece.length, 60U);
  EXPECT_EQ(locate(stream, 100, 10).kind, SpoolPiece::Kind::kEnd);

  stream.bytes = 1000;  // a file of 100 bytes: 50 at the head, a ring of 50
  stream.ring_begin = 50;
  stream.ring_size = 50;
  stream.gap_begin = 50;
  stream.gap_end = 950;
  piece = locate(stream, 40, 1000);
  EXPECT_EQ(piece.length, 10U);
  piece = locate(stream, 60, 5);
  EXPECT_EQ(piece.kind, SpoolPiece::Kind::kGap);
  EXPECT_EQ(piece.length, 890U);
  stream.bytes = 1010;
  stream.gap_end = 960;
  piece = locate(stream, 960, 1000);  // up to the ring's turn
  EXPECT_EQ(piece.file_position, 60U);
  EXPECT_EQ(piece.length, 40U);
  piece = locate(stream, 1000, 1000);
  EXPECT_EQ(piece.file_position, 50U);
  EXPECT_EQ(piece.length, 10U);
}

TEST(SpoolLayoutTest, ALostKeepersStreamIsWhatItsFileHolds) {
  ExtentMsg stream;
  EXPECT_EQ(settled(stream, {.size = 77, .mark = {}}, true).bytes, 77U);
  stream.bytes = 200;
  stream.ring_begin = 50;
  stream.ring_size = 50;
  const ExtentMsg ring = settled(stream, {.size = 100, .mark = {}}, true);
  EXPECT_EQ(ring.bytes, 200U);
  EXPECT_EQ(ring.gap_begin, 50U);
  EXPECT_EQ(ring.gap_end, 200U);
}

TEST(SpoolLayoutTest, AfterTheEndAStreamIsWhatItsFileHoldsAndTheEndStays) {
  ExtentMsg stream;
  stream.bytes = stream.end_offset = 60;
  EXPECT_EQ(settled_after_end(stream, {.size = 77, .mark = {}}, true).bytes, 77U);
  EXPECT_EQ(settled_after_end(stream, {.size = 77, .mark = {}}, true).end_offset, 60U);
  EXPECT_EQ(settled_after_end(stream, {.size = 77, .mark = {}}, false).bytes, 60U)
      << "another boot";
  EXPECT_EQ(settled_after_end(stream, {.size = 10, .mark = {}}, true).bytes, 60U)
      << "a damaged file";
  stream.bytes = stream.end_offset = 200;
  stream.ring_begin = stream.gap_begin = 50;
  stream.ring_size = 50;
  stream.gap_end = 200;  // as recorded: nobody knew whether it would be written on
  const RingMark still{.bytes = 200, .until = 200};
  EXPECT_EQ(settled_after_end(stream, {.size = 138, .mark = still}, true).gap_end, 150U);
  const RingMark later{.bytes = 220, .until = 230};
  const ExtentMsg grown = settled_after_end(stream, {.size = 138, .mark = later}, true);
  EXPECT_EQ(grown.bytes, 220U);
  EXPECT_EQ(grown.gap_end, 180U);
  EXPECT_EQ(grown.end_offset, 200U);
  EXPECT_EQ(settled_after_end(stream, {.size = 138, .mark = later}, false).gap_end, 200U);
  EXPECT_EQ(settled_after_end(stream, {.size = 100, .mark = {}}, true).gap_end, 200U)
      << "no mark, no place";
}

TEST(SpoolLayoutTest, ALostKeepersRingIsWhatItsMarkTells) {
  ExtentMsg stream;
  stream.bytes = 100;
  stream.ring_begin = 50;
  stream.ring_size = 50;
  const auto with = [&](RingMark mark, bool same_boot = true) {
    return settled(stream, {.size = 100, .mark = mark}, same_boot);
  };
  EXPECT_EQ(with({1000, 1000, 0}).bytes, 1000U);
  EXPECT_EQ(with({1000, 1000, 0}).end_offset, 1000U);
  EXPECT_EQ(with({1000, 1000, 0}).gap_begin, 50U);
  EXPECT_EQ(with({1000, 1000, 0}).gap_end, 950U);
  EXPECT_EQ(with({1000, 1020, 0}).gap_end, 970U) << "a write was under way: the oldest may be gone";
  EXPECT_EQ(with({1000, 1020, 0}).bytes, 1000U);
  EXPECT_EQ(with({1000, 1050, 0}).gap_end, 1000U);
  EXPECT_EQ(with({1000, 1000, 980}).gap_end, 980U);
  EXPECT_EQ(with({1000, 1000, 0}, false).bytes, 1000U);
  EXPECT_EQ(with({1000, 1000, 0}, false).gap_end, 1000U)
      << "after a power cut mark and bytes need not go together";
  EXPECT_EQ(with({99, 99, 0}).bytes, 100U) << "a mark that contradicts the record says nothing";
  EXPECT_EQ(with({1000, 999, 0}).bytes, 100U);
  EXPECT_EQ(ring_mark({UINT64_MAX, 0, 1}).size(), kRingMark);
}

// By these bytes a request is known again through a daemon of another release: they never change.
TEST(StartIdentityTest, IsWhatTheFirstReleaseWrote) {
  StartCommand start;
  start.argv = {"/bin/sh", "-c", "true"};
  start.env = {"A=1"};
  start.cwd = "/x";
  start.user = "user";
  start.timeout_ms = 60'000;
  start.ttl_ms = 600'000;
  start.close_stdin = true;
  start.shell_line = true;
  std::string hex;
  for (const char c : identity_of(start)) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr const char* kDigits = "0123456789abcdef";
    hex += {kDigits[byte >> 4], kDigits[byte & 15]};
  }
  EXPECT_EQ(hex,
            "0100000000000200000000000300070000002f62696e2f73680300020000002d6303000400000074727565"
            "04000300000041"
            "3d310500020000002f78060004000000757365720700010000000008000800000018000000000000000900"
            "08000000500000"
            "00000000000a000800000060ea0000000000000b0008000000ffffffffffffffff0c0008000000c0270900"
            "000000000d0001"
            "000000000e0001000000010f00010000000010000100000000110008000000000000000000000012000800"
            "00000000000000"
            "000000130008000000000000000000000014000100000001");
  start.reader_follows = true;  // Cay's own, later than the first release
  EXPECT_EQ(identity_of(start).size() * 2, hex.size());
}

}  // namespace
}  // namespace cay::wire
