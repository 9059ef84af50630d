#include "api/langsmith/upload_body.h"

#include <gtest/gtest.h>

#include <random>

#include "api/common/source.h"
#include "core/testing/fake_files.h"
#include "core/testing/run.h"

namespace cay::api::langsmith {
namespace {

using core::testing::bytes_source;

class UploadBodyTest : public ::testing::Test {
 protected:
  Result<Bytes> read(const std::string& body, std::size_t chunk = 64 * 1024,
                     const std::string& boundary = "xYz") {
    return core::testing::run(loop,
                              read_all(upload_body(boundary, bytes_source(body, chunk)), 1 << 26));
  }
  static std::string body_of(
      const std::string& bytes,
      const std::string& head =
          "Content-Disposition: form-data; name=\"file\"; filename=\"file\"") {
    return "--xYz\r\n" + head + "\r\n\r\n" + bytes + "\r\n--xYz--\r\n";
  }
  asio::io_context loop;
};

TEST_F(UploadBodyTest, WhateverTheBytesAndTheCuts) {
  for (const std::string& bytes :
       {std::string(), std::string("hello"), std::string("\r\n"), std::string("\r\n--xY"),
        std::string("-xYz--xYz"), std::string("\r\n\r\n--xY-"), std::string(3, '\0'),
        std::string(100'000, '\r'), std::string("\r\n--xY\r\n--xY")}) {
    for (const std::size_t chunk : {1u, 2u, 7u, 100u, 65'536u}) {
      const auto got = read(body_of(bytes), chunk);
      ASSERT_TRUE(got) << got.error().message << " chunk " << chunk << " of "
                       << bytes.substr(0, 20);
      EXPECT_EQ(*got, bytes);
    }
  }
}

TEST_F(UploadBodyTest, TheClientsOwnHeads) {
  for (const auto* head :
       {"Content-Disposition: form-data; name=\"file\"; filename=\"file\"\r\nContent-Type: "
        "application/octet-stream",
        "content-disposition: form-data; name=\"file\"",
        "Content-Type: a/b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\""}) {
    EXPECT_EQ(read(body_of("data", head)).value_or("?"), "data") << head;
  }
}

TEST_F(UploadBodyTest, BrokenBodiesNeverBecomeFiles) {
  const std::string good = body_of("some bytes");
  for (std::size_t size = 0; size < good.size() - 4; ++size)
    EXPECT_FALSE(read(good.substr(0, size))) << size;
  EXPECT_FALSE(read(body_of("x", "Content-Disposition: form-data; name=\"other\"")));
  EXPECT_FALSE(read(body_of("x", "X: y")));
  EXPECT_FALSE(
      read("--xYz\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\na\r\n--xYz\r\nX: "
           "y\r\n\r\nb\r\n--xYz--\r\n"));
  EXPECT_FALSE(read(std::string(100'000, 'x')));
  EXPECT_FALSE(read("--xYz\r\n" + std::string(100'000, 'h')));
}

TEST_F(UploadBodyTest, RandomBodiesAndDamage) {
  std::mt19937 random(5);  // NOLINT: a fixed seed, so that a failure comes again
  static const std::string kAlphabet = "\r\n-xYz-\r\n";
  for (int round = 0; round < 3000; ++round) {
    std::string bytes;
    const auto size = random() % 40;
    for (unsigned i = 0; i < size; ++i) bytes.push_back(kAlphabet[random() % kAlphabet.size()]);
    if (("\r\n" + bytes).find("\r\n--xYz") != std::string::npos)
      continue;  // no sender chooses such a boundary
    const auto got = read(body_of(bytes), 1 + random() % 9);
    ASSERT_TRUE(got) << got.error().message;
    ASSERT_EQ(*got, bytes);
    std::string damaged = body_of(bytes);
    damaged[random() % damaged.size()] = static_cast<char>(random());
    static_cast<void>(read(damaged, 1 + random() % 9));
  }
}

}  // namespace
}  // namespace cay::api::langsmith
