#include "gate/told_apart.h"

#include <algorithm>

namespace cay::gate {
namespace {

constexpr char kHandshake = 22;
constexpr char kTlsMajor = 3;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
// RFC 9110, 5.6.2.
bool is_of_a_token(char c) {
  return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

}  // namespace

std::optional<Proof> told_apart(std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  if (bytes.front() == kHandshake) {
    if (bytes.size() == 1) return std::nullopt;
    return bytes[1] == kTlsMajor ? Proof::kTls : Proof::kNone;
  }
  // Servers differ in what they take for a method, a blank and a line's end, but not in that a request's line says HTTP. A NUL ends that: none of those
  // that tell hosts apart lets one pass, and Git's own protocol has one where a request would go on.
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  const std::string_view method = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
  if (!std::ranges::all_of(method.substr(0, method.find_first_of(" \t")), is_of_a_token)) return Proof::kNone;
  if (line.find('\0') != std::string_view::npos) return Proof::kNone;
  constexpr std::string_view kHttpName = "http/";
  const bool says_http = !std::ranges::search(line, kHttpName, {}, lower).empty();
  if (line.size() < bytes.size()) return says_http && line != "PRI * HTTP/2.0\r" ? Proof::kHttp : Proof::kNone;
  return bytes.size() >= kMostFirstBytes ? std::optional(Proof::kHttp) : std::nullopt;
}

}  // namespace cay::gate
