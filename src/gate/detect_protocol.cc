#include "gate/detect_protocol.h"

#include <algorithm>

#include "base/ascii.h"

namespace cay::gate {
namespace {

using policy::Proof;

constexpr char kHandshake = 22, kMajorVersion = 3;
constexpr std::string_view kHttp = "HTTP/";

// RFC 9110, 5.6.2.
bool is_token_char(char c) {
  return is_letter(c) || is_digit(c) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool is_target_char(char c) { return static_cast<unsigned char>(c) > ' ' && c != 0x7f; }

}  // namespace

std::optional<Proof> ProtocolDetector::add(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size() && !found_; ++i) take(bytes[i]);
  return found_;
}

void ProtocolDetector::take(char c) {
  if (at_ == At::kStart && (c == '\r' || c == '\n')) {
    after_empty_lines_ = true;
  } else if (at_ == At::kStart && c == kHandshake && !after_empty_lines_) {
    at_ = At::kRecord;
  } else if (at_ == At::kRecord) {
    found_ = c == kMajorVersion ? Proof::kTls : Proof::kNone;
  } else if (at_ == At::kVersion) {
    if (c != kHttp[word_]) {
      found_ = Proof::kNone;
    } else if (++word_ == kHttp.size()) {
      found_ = Proof::kHttp;
    }
  } else if (c == ' ' && word_ > 0) {
    at_ = at_ == At::kToken ? At::kTarget : At::kVersion;
    word_ = 0;
  } else if (at_ == At::kTarget ? is_target_char(c) : is_token_char(c)) {
    if (at_ == At::kStart) at_ = At::kToken;
    ++word_;
  } else {
    found_ = Proof::kNone;
  }
}

}  // namespace cay::gate
