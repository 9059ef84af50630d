#include "gate/first_answer.h"

#include <string>

namespace cay::gate {
namespace {

constexpr std::string_view kStatusBegins = "HTTP/1.1 ";
constexpr std::size_t kStatusSize = kStatusBegins.size() + 3;
constexpr std::size_t kRecordHead = 5;
constexpr int kHandshake = 22;
constexpr int kServerHello = 2;
constexpr std::size_t kBeforeRandom = 4 + 2;  // the message's head, a version
// The random by which a ServerHello is a HelloRetryRequest: SHA-256 of that word (RFC 8446, 4.1.3).
constexpr std::string_view kRetryRandom(
    "\xcf\x21\xad\x74\xe5\x9a\x61\x11\xbe\x1d\x8c\x02\x1e\x65\xb8\x91\xc2\xa2\x11\x16\x7a\xbb\x8c"
    "\x5e\x07\x9e\x09\xe2\xc8\xa8\x33\x9c",
    32);

int byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

}  // namespace

FirstAnswer read_http_answer(std::string_view bytes) {
  for (std::size_t at = 0;;) {
    const std::string_view rest = bytes.substr(at);
    if (!rest.starts_with(kStatusBegins))
      return kStatusBegins.starts_with(rest) ? FirstAnswer::kMore : FirstAnswer::kOther;
    if (rest.size() < kStatusSize + 1) return FirstAnswer::kMore;
    const std::string_view status = rest.substr(kStatusBegins.size(), 3);
    if (rest[kStatusSize] != ' ' && rest[kStatusSize] != '\r') return FirstAnswer::kOther;
    if (status == "101") return FirstAnswer::kSwitches;
    if (status[0] != '1') return FirstAnswer::kOther;
    const std::size_t end = rest.find("\r\n\r\n");
    if (end == std::string_view::npos)
      return bytes.size() >= kMostFirstAnswer ? FirstAnswer::kOther : FirstAnswer::kMore;
    at += end + 4;
  }
}

FirstAnswer read_server_hello(std::string_view bytes) {
  std::string message;  // of its records
  for (std::size_t at = 0; at < bytes.size();) {
    const std::string_view rest = bytes.substr(at);
    if (byte_at(rest, 0) != kHandshake) return FirstAnswer::kOther;
    if (rest.size() < kRecordHead) return FirstAnswer::kMore;
    const auto length = static_cast<std::size_t>(byte_at(rest, 3) << 8 | byte_at(rest, 4));
    if (length == 0) return FirstAnswer::kOther;
    message += rest.substr(kRecordHead, length);
    if (!message.empty() && byte_at(message, 0) != kServerHello) return FirstAnswer::kOther;
    if (message.size() >= kBeforeRandom + kRetryRandom.size()) {
      return std::string_view(message).substr(kBeforeRandom, kRetryRandom.size()) == kRetryRandom
                 ? FirstAnswer::kRetries
                 : FirstAnswer::kOther;
    }
    at += kRecordHead + length;
  }
  return bytes.size() >= kMostFirstAnswer ? FirstAnswer::kOther : FirstAnswer::kMore;
}

}  // namespace cay::gate
