#include "vault/readable.h"

#include <gtest/gtest.h>

namespace cay::vault {
namespace {

std::string refused(int status, const char* name, const char* value, bool has_body = true) {
  http::UpstreamAnswer answer;
  answer.status = status;
  answer.headers.add("Content-Length", "5");
  answer.headers.add(name, value);
  const auto got = check_readable(answer, has_body);
  return got ? "" : got.error().reason;
}

TEST(ReadableTest, NoPartOfAnAnswerHoweverItIsTold) {
  EXPECT_EQ(refused(200, "Content-Type", "text/plain"), "");
  EXPECT_EQ(refused(206, "Content-Type", "text/plain"), "answer_partial");
  EXPECT_EQ(refused(200, "content-range", "bytes 0-4/100"), "answer_partial");
  EXPECT_EQ(refused(416, "Content-Range", "bytes */100"), "answer_partial")
      << "how long it is, is not to be had so either";
  EXPECT_EQ(refused(200, "Content-Type", "Multipart/ByteRanges; boundary=x"), "answer_partial");
  EXPECT_EQ(refused(206, "Accept-Ranges", "bytes", false), "answer_partial") << "of HEAD too";
  EXPECT_EQ(refused(200, "Accept-Ranges", "bytes"), "");
}

TEST(ReadableTest, NothingPacked) {
  EXPECT_EQ(refused(200, "Content-Encoding", "identity"), "");
  EXPECT_EQ(refused(200, "Content-encoding", "gzip"), "answer_unreadable");
  EXPECT_EQ(refused(200, "Content-Encoding", "gzip", false), "") << "there is nothing to read";
  EXPECT_EQ(refused(101, "Sec-WebSocket-Extensions", "permessage-deflate", false),
            "answer_unreadable");
  EXPECT_EQ(refused(101, "Sec-WebSocket-Protocol", "chat", false), "");
}

}  // namespace
}  // namespace cay::vault
