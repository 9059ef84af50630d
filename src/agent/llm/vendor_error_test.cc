#include "agent/llm/vendor_error.h"

#include <gtest/gtest.h>

namespace cay::agent {
namespace {

std::string reason_of(int status, const std::string& body) {
  return to_error(vendor_error_of_body(status, body)).reason;
}
std::string message_body(const std::string& message) {
  codec::json::object error;
  error["message"] = message;
  codec::json::object out;
  out["error"] = std::move(error);
  return codec::write(out);
}

TEST(VendorErrorTest, StatusesHaveTheirReason) {
  EXPECT_EQ(reason_of(400, "{}"), "model_request_refused");
  EXPECT_EQ(reason_of(401, "no"), "model_key_refused");
  EXPECT_EQ(reason_of(402, ""), "model_quota");
  EXPECT_EQ(reason_of(403, ""), "model_key_refused");
  EXPECT_EQ(reason_of(404, "<html>"), "model_unknown");
  EXPECT_EQ(reason_of(408, ""), "model_overloaded");
  EXPECT_EQ(reason_of(409, ""), "model_overloaded");
  EXPECT_EQ(reason_of(413, ""), "context_overflow");
  EXPECT_EQ(reason_of(422, "{}"), "model_request_refused");
  EXPECT_EQ(reason_of(429, ""), "model_rate_limited");
  EXPECT_EQ(reason_of(429, R"({"error":{"code":"insufficient_quota"}})"), "model_quota");
  EXPECT_EQ(reason_of(500, ""), "model_overloaded");
  EXPECT_EQ(reason_of(501, ""), "model_request_refused");
  EXPECT_EQ(reason_of(529, R"({"error":{"type":"overloaded_error"}})"), "model_overloaded");
}

TEST(VendorErrorTest, TooLongAConversationIsRecognised) {
  EXPECT_EQ(reason_of(400, R"({"error":{"code":"context_length_exceeded","message":"x"}})"),
            "context_overflow");
  for (const char* message :
       {"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
        "prompt is too long: 208310 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 190000 + 21333 > 200000",
        "the request exceeds the available context size, try increasing it",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "Range of input length should be [1, 30720]",
        "Prompt contains 40000 tokens, too large for model with 32768 maximum context length"})
    EXPECT_EQ(reason_of(400, message_body(message)), "context_overflow") << message;
  for (const char* message :
       {"max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens",
        "messages.3: 'tool_calls' must be followed by tool messages", "Invalid 'input[0]'",
        "temperature: maximum 1"})
    EXPECT_EQ(reason_of(400, message_body(message)), "model_request_refused") << message;
  EXPECT_EQ(reason_of(429, message_body("input tokens exceed the limit per minute")),
            "model_rate_limited");
}

TEST(VendorErrorTest, TheServersWordsAreShownOnOneLine) {
  const Error error =
      to_error(vendor_error_of_body(400, R"({"error":{"message":"bad\n\u001b[31mthing"}})"));
  EXPECT_EQ(error.message, "the server refused the request (HTTP 400): bad  [31mthing");
  EXPECT_EQ(to_error(vendor_error_of_body(400, R"({"error":"plain"})")).message,
            "the server refused the request (HTTP 400): plain");
  EXPECT_EQ(to_error(vendor_error_of_body(422, R"({"detail":[{"loc":["body","x"]}]})")).message,
            R"(the server refused the request (HTTP 422): [{"loc":["body","x"]}])");
  EXPECT_LT(to_error(vendor_error_of_body(500, std::string(100'000, 'x'))).message.size(), 700u);
}

}  // namespace
}  // namespace cay::agent
