#include "vault/readable.h"

#include <string>

#include "base/ascii.h"

namespace cay::vault {
namespace {

constexpr int kPartialContent = 206;

Error packed(const std::string& how) {
  return {Code::kUnavailable, "answer_unreadable",
          "the server packed its answer (" + how +
              ") although the request forbids it: a secret could be in it",
          0};
}

bool is_of_parts(const std::string& type) {
  return lowered(trimmed(type)).starts_with("multipart/byteranges");
}

}  // namespace

Result<void> check_readable(const http::UpstreamAnswer& answer, bool has_body) {
  bool part = answer.status == kPartialContent;
  for (const auto& [name, value] : answer.headers.items()) {
    if (has_body && equals_ignoring_case(name, "Content-Encoding") &&
        !equals_ignoring_case(value, "identity"))
      return packed(value);
    // The WebSocket extensions in use compress, and the relay offered none.
    if (equals_ignoring_case(name, "Sec-WebSocket-Extensions") && !trimmed(value).empty())
      return packed(value);
    part = part || equals_ignoring_case(name, "Content-Range") ||
           (equals_ignoring_case(name, "Content-Type") && is_of_parts(value));
  }
  if (!part) return {};
  return Error{Code::kUnavailable, "answer_partial",
               "the server answered with a part although the request was for the whole: a secret "
               "could be fetched in pieces",
               0};
}

}  // namespace cay::vault
