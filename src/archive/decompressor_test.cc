#include "archive/decompressor.h"

#include <gtest/gtest.h>

#include <vector>

#include "archive/compressor.h"

namespace cay::archive {
namespace {

// "hello\n" by gzip -n and by zstd.
const std::string kGzip(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xcb\x48\xcd\xc9\xc9\xe7\x02\x00\x20\x30\x3a\x36\x06"
    "\x00\x00\x00",
    26);
const std::string kZstd("\x28\xb5\x2f\xfd\x20\x06\x31\x00\x00hello\n", 15);

// The bytes in pieces of `cut`.
Result<std::string> plain(const std::string& bytes, std::size_t cut) {
  std::size_t at = 0;
  Decompressor all([&]() -> Result<std::string> {
    std::string piece = bytes.substr(at, cut);
    at += piece.size();
    return piece;
  });
  std::string out;
  for (;;) {
    CAY_TRY(const std::string piece, all.next());
    if (piece.empty()) return out;
    out += piece;
  }
}

TEST(Decompressor, ReadsGzipZstdAndPlainHoweverTheyAreCut) {
  for (const std::size_t cut : {1UL, 3UL, 1000UL}) {
    for (const std::string& bytes : {kGzip, kZstd, std::string("hello\n")}) {
      auto got = plain(bytes, cut);
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(*got, "hello\n");
    }
  }
  EXPECT_EQ(*plain(kGzip + kGzip, 5), "hello\nhello\n");  // members follow each other
  EXPECT_EQ(*plain("", 1), "");
}

TEST(Compressor, GivesWhatTheDecompressorReads) {
  std::string bytes;
  for (int i = 0; i < 100'000; ++i) bytes += std::to_string(i);
  const auto packed = [&]() -> Result<std::string> {
    CAY_TRY(auto gzip, Compressor::gzip());
    std::string out;
    for (std::size_t at = 0; at < bytes.size(); at += 10'000) {
      CAY_CHECK(gzip->add(std::string_view(bytes).substr(at, 10'000)));
      out += gzip->take();
    }
    CAY_CHECK(gzip->close());
    return out + gzip->take();
  };
  const auto once = packed();
  ASSERT_TRUE(once) << once.error().message;
  EXPECT_LT(once->size(), bytes.size() / 2);
  EXPECT_EQ(*once, *packed());
  EXPECT_EQ(*plain(*once, 7'000), bytes);
}

TEST(Decompressor, DoesNotDecompressTwice) {
  // The gzip of a gzip stays one: "stored" blocks hold the bytes as they are.
  std::string twice("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x01\x1a\x00\xe5\xff", 15);
  twice += kGzip;
  twice += std::string("\x00\x00\x00\x00\x1a\x00\x00\x00", 8);
  auto got = plain(twice, 1000);
  // The checksum is not right, so the end may be refused. It must not be "hello".
  if (got) {
    EXPECT_EQ(*got, kGzip);
  } else {
    EXPECT_EQ(got.error().reason, "bad_compression");
  }
}

TEST(Decompressor, RefusesWhatIsCutOff) {
  for (const std::string& bytes : {kGzip, kZstd}) {
    for (std::size_t size = 5; size < bytes.size() - 1; ++size) {
      auto got = plain(bytes.substr(0, size), 1000);
      if (got) {
        EXPECT_NE(*got, "hello\n!");
      } else {
        EXPECT_EQ(got.error().reason, "bad_compression");
      }
    }
  }
  EXPECT_FALSE(plain(kZstd.substr(0, 12), 1000));
  EXPECT_FALSE(plain(kGzip.substr(0, 14), 1000));
}

TEST(Decompressor, PassesErrorsOfItsSourceThrough) {
  int calls = 0;
  Decompressor all([&]() -> Result<std::string> {
    if (++calls == 1) return kGzip.substr(0, 12);
    return Error{Code::kUnavailable, "gone", "it went", 0};
  });
  auto got = all.next();
  while (got && !got->empty()) got = all.next();
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().reason, "gone");
}

}  // namespace
}  // namespace cay::archive
