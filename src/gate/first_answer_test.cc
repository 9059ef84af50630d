#include "gate/first_answer.h"

#include <gtest/gtest.h>

#include <string>

namespace cay::gate {
namespace {

// All but the last byte is not enough.
void expect_http(const std::string& bytes, FirstAnswer answer) {
  EXPECT_EQ(read_http_answer(bytes), answer) << bytes;
  EXPECT_EQ(read_http_answer(bytes + "more"), answer) << bytes;
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(read_http_answer(bytes.substr(0, size)), FirstAnswer::kMore) << size;
}

TEST(HttpAnswerTest, OnlyTheFinalStatusCounts) {
  expect_http("HTTP/1.1 101 ", FirstAnswer::kSwitches);
  expect_http("HTTP/1.1 101\r", FirstAnswer::kSwitches);
  expect_http("HTTP/1.1 200 ", FirstAnswer::kOther);
  expect_http("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 101 ", FirstAnswer::kSwitches);
  expect_http("HTTP/1.1 103 Early Hints\r\nLink: HTTP/1.1 101 x\r\n\r\nHTTP/1.1 403 ",
              FirstAnswer::kOther);
  EXPECT_EQ(read_http_answer("HTTP/1.0 101 x"), FirstAnswer::kOther);
  EXPECT_EQ(read_http_answer("HTTP/1.1 1010"), FirstAnswer::kOther);
  EXPECT_EQ(read_http_answer("SSH-2.0"), FirstAnswer::kOther);
  EXPECT_EQ(read_http_answer("HTTP/1.1 200 \r\n\r\nHTTP/1.1 101 x"), FirstAnswer::kOther)
      << "a body is no answer";
  EXPECT_EQ(read_http_answer("HTTP/1.1 100 " + std::string(kMostFirstAnswer, 'x')),
            FirstAnswer::kOther);
}

const std::string kRetry(
    "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb\x8c"
    "\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c",
    32);

std::string record(const std::string& payload) {
  return std::string("\x16\x03\x03\0", 4) + static_cast<char>(payload.size()) + payload;
}

TEST(ServerHelloTest, ARetryIsKnownByItsRandom) {
  const std::string head("\x02\0\0\x36\x03\x03", 6);
  EXPECT_EQ(read_server_hello(record(head + kRetry + "rest")), FirstAnswer::kRetries);
  EXPECT_EQ(read_server_hello(record(head + std::string(32, 'r') + "rest")), FirstAnswer::kOther);
  EXPECT_EQ(read_server_hello(record(head + kRetry.substr(0, 5)) + record(kRetry.substr(5))),
            FirstAnswer::kRetries)
      << "in two records";
  EXPECT_EQ(read_server_hello(std::string("\x15\x03\x03\0\x02\x02\x28", 7)), FirstAnswer::kOther)
      << "an alert";
  EXPECT_EQ(read_server_hello("HTTP/1.1 400"), FirstAnswer::kOther);
  const std::string whole = record(head + kRetry);
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_EQ(read_server_hello(whole.substr(0, size)), FirstAnswer::kMore) << size;
}

}  // namespace
}  // namespace cay::gate
