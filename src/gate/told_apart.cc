#include "gate/told_apart.h"

#include <algorithm>

namespace cay::gate {
namespace {

// Types of records: servers pass over a warning before the ClientHello, and some over a version of that record which there is not.
constexpr char kFirstType = 20, kLastType = 24;
constexpr char kMostMajor = 0x0f;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
// RFC 9110, 5.6.2.
bool is_of_a_token(char c) {
  return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

std::string_view word_of(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  const auto out = line.substr(0, line.find_first_of(" \t"));
  line.remove_prefix(out.size());
  return out;
}

// Of a line that begins with a token. HTTP/0.9 names no version, and some servers read headers behind that all the same.
bool is_a_request(std::string_view line) {
  if (line == "PRI * HTTP/2.0\r") return false;
  constexpr std::string_view kHttpName = "http/";
  if (!std::ranges::search(line, kHttpName, {}, lower).empty()) return true;
  const auto method = word_of(line), target = word_of(line);
  if (method == "PROXY") return true;
  const bool of_options = std::ranges::equal(method, std::string_view("options"), {}, lower) && target.starts_with('*');
  return of_options || target.starts_with('/') || target.find("://") != std::string_view::npos;
}

}  // namespace

std::optional<Proof> told_apart(std::string_view bytes, bool ended) {
  if (bytes.empty()) return ended ? std::optional(Proof::kNone) : std::nullopt;
  if (bytes.front() >= kFirstType && bytes.front() <= kLastType) {
    if (bytes.size() == 1) return ended ? std::optional(Proof::kNone) : std::nullopt;
    return bytes[1] >= 0 && bytes[1] <= kMostMajor ? Proof::kTls : Proof::kNone;
  }
  // A NUL ends what may be a request: none of the servers that tell hosts apart lets one pass, and Git's own protocol has one where a request would go on.
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  std::string_view rest = line;
  if (!std::ranges::all_of(word_of(rest), is_of_a_token)) return Proof::kNone;
  if (line.find('\0') != std::string_view::npos) return Proof::kNone;
  if (line.size() < bytes.size() || ended) return is_a_request(line) ? Proof::kHttp : Proof::kNone;
  return bytes.size() >= kMostFirstBytes ? std::optional(Proof::kHttp) : std::nullopt;
}

}  // namespace cay::gate
