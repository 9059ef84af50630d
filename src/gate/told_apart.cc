#include "gate/told_apart.h"

#include <algorithm>

namespace cay::gate {
namespace {

// Types of records: servers pass over a warning before the ClientHello, and some over a version of that record which there is not.
constexpr char kFirstType = 20, kLastType = 24;
constexpr char kMostMajor = 0x0f;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
// RFC 9110, 5.6.2.
bool is_a_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
bool is_of_a_token(char c) {
  return is_a_letter(c) || (c >= '0' && c <= '9') || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// What parts words for one server or another (RFC 9112, 3), CPython's, which reads Latin-1, among them.
constexpr std::string_view kBlank = " \t\v\f\r\x1c\x1d\x1e\x1f\x85\xa0", kOddBlank = kBlank.substr(2);

std::string_view word_of(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  const auto out = line.substr(0, line.find_first_of(kBlank));
  line.remove_prefix(out.size());
  return out;
}

// Git's own protocol: a NUL, and perhaps more, where a request would go on. Until that is there it may be a method: some servers take any.
bool is_gits(std::string_view line) {
  constexpr std::size_t kDigits = 4;
  return line.size() > kDigits && line.substr(0, kDigits).find_first_not_of("0123456789abcdef") == std::string_view::npos && line.substr(kDigits).starts_with("git-") &&
         line.find('\0') != std::string_view::npos;
}

// Of a line that begins with a token. HTTP/0.9 names no version, and some servers read headers behind that all the same.
bool is_a_request(std::string_view line) {
  if (line.find_first_not_of(kBlank) == std::string_view::npos) return true;  // some pass over it as over an empty line
  for (const std::string_view version : {"http/", "rtsp/", "ice/"}) {  // Node's takes them all for its own
    if (!std::ranges::search(line, version, {}, lower).empty()) return true;
  }
  const auto method = word_of(line), target = word_of(line);
  // Of GET, CPython's takes any word for a target; of Redis' own words no server does.
  if (method == "PROXY" || (method == "GET" && !target.empty())) return true;
  const bool of_all = target.starts_with('*') && !std::ranges::equal(method, std::string_view("keys"), {}, lower);
  return of_all || target.starts_with('/') || target.find("://") != std::string_view::npos;
}

}  // namespace

bool may_begin_tls(char first) { return first >= kFirstType && first <= kLastType; }

std::optional<Proof> told_apart(std::string_view bytes, bool ended) {
  if (bytes.empty()) return ended ? std::optional(Proof::kNone) : std::nullopt;
  if (may_begin_tls(bytes.front())) {
    if (bytes.size() == 1) return ended ? std::optional(Proof::kNone) : std::nullopt;
    return bytes[1] >= 0 && bytes[1] <= kMostMajor ? Proof::kTls : Proof::kNone;
  }
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  std::string_view rest = line;
  const auto method = word_of(rest);
  if (!std::ranges::all_of(method, is_of_a_token)) return Proof::kNone;
  // Who parts words so has methods by name; LDAP's first bytes are a digit and a length.
  const bool by_odd_blanks = rest.substr(0, 1).find_first_not_of(" \t") != std::string_view::npos || line.substr(0, 1).find_first_of(kOddBlank) != std::string_view::npos;
  if (by_odd_blanks && !method.empty() && !is_a_letter(method.front())) return Proof::kNone;
  if (is_gits(line)) return Proof::kNone;
  if (line.size() < bytes.size() || ended) return is_a_request(line) ? Proof::kHttp : Proof::kNone;
  return bytes.size() >= kMostFirstBytes ? std::optional(Proof::kHttp) : std::nullopt;
}

}  // namespace cay::gate
