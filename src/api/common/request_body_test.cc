#include "api/common/request_body.h"

#include <gtest/gtest.h>

#include "api/testing/fake_exchange.h"
#include "api/testing/gzip.h"
#include "core/testing/fake_files.h"
#include "core/testing/run.h"

namespace cay::api {
namespace {

using testing::gzip;

class RequestBodyTest : public ::testing::Test {
 protected:
  Result<std::string> read(std::string body, const std::string& encoding,
                           std::size_t limit = 1 << 20, std::size_t chunk = 1000) {
    const auto exchange =
        std::make_shared<testing::FakeExchange>(loop.get_executor(), "POST", "/x");
    exchange->request_body = std::move(body);
    exchange->chunk = chunk;
    if (!encoding.empty()) exchange->request.headers.add("Content-Encoding", encoding);
    return core::testing::run(loop, read_request_body(exchange, limit));
  }
  std::string reason(std::string body, const std::string& encoding, std::size_t limit = 1 << 20) {
    const auto got = read(std::move(body), encoding, limit);
    return got ? "" : got.error().reason;
  }
  asio::io_context loop;
};

TEST_F(RequestBodyTest, ACompressedBodyIsReadAsThePlainOne) {
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i) + " ";
  EXPECT_EQ(read(text, "").value_or("?"), text);
  EXPECT_EQ(read(text, "identity").value_or("?"), text);
  for (const std::size_t chunk : {1u, 7u, 4096u, 1u << 20}) {
    EXPECT_EQ(read(gzip(text), "gzip", 1 << 20, chunk).value_or("?"), text) << chunk;
  }
  EXPECT_EQ(read(gzip(text), " GZIP ").value_or("?"), text);
  EXPECT_EQ(read(gzip("a") + gzip("") + gzip("b"), "gzip").value_or("?"), "ab") << "members";
  EXPECT_EQ(read(gzip(""), "gzip").value_or("?"), "");
  EXPECT_EQ(read("", "gzip").value_or("?"), "");
}

TEST_F(RequestBodyTest, TheLimitCountsDecompressedBytes) {
  constexpr std::size_t kLimit = 100'000;
  EXPECT_EQ(read(gzip(std::string(kLimit, 'x')), "gzip", kLimit).value_or("?").size(), kLimit);
  EXPECT_EQ(reason(gzip(std::string(kLimit + 1, 'x')), "gzip", kLimit), "body_too_large");
  EXPECT_EQ(reason(std::string(kLimit + 1, 'x'), "", kLimit), "body_too_large");
}

TEST_F(RequestBodyTest, ABombIsRefusedAndNeverHeld) {
  const std::string bomb = gzip(std::string(64 << 20, '\0'));
  ASSERT_LT(bomb.size(), std::size_t{64 << 20} / 900) << "about 1 to 1000";
  EXPECT_EQ(reason(bomb, "gzip"), "body_too_large");
  const auto source = gunzipped(core::testing::bytes_source(bomb, 4096));
  std::size_t all = 0;
  for (;;) {
    const auto piece = core::testing::run(loop, source->next());
    ASSERT_TRUE(piece);
    if (piece->empty()) break;
    ASSERT_LE(piece->size(), std::size_t{64 << 10}) << "of the 64 MiB no more than a piece";
    all += piece->size();
  }
  EXPECT_EQ(all, std::size_t{64 << 20}) << "the control";
}

// Empty members decompress to nothing, so that only the compressed bytes show how long it is.
TEST_F(RequestBodyTest, EndlessNothingIsRefused) {
  std::string members;
  while (members.size() < 10'000) members += gzip("");
  EXPECT_EQ(read(members, "gzip").value_or("?"), "") << "the control";
  EXPECT_EQ(reason(members, "gzip", 1000), "body_too_large");
}

TEST_F(RequestBodyTest, WhatIsNoWholeGzipIsRefused) {
  const std::string good = gzip("some text");
  for (std::size_t size = 1; size < good.size(); ++size)
    EXPECT_EQ(reason(good.substr(0, size), "gzip"), "bad_encoding") << size;
  EXPECT_EQ(reason("{}", "gzip"), "bad_encoding");
  EXPECT_EQ(reason(good + "x", "gzip"), "bad_encoding");
  std::string damaged = good;
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);
  EXPECT_EQ(reason(damaged, "gzip"), "bad_encoding") << "its checksum";
  EXPECT_EQ(reason(good, "br"), "bad_encoding");
  EXPECT_EQ(reason(good, "gzip, gzip"), "bad_encoding");
}

}  // namespace
}  // namespace cay::api
