#include "gate/told_apart.h"

#include <algorithm>

namespace cay::gate {
namespace {

// Types of records: servers pass over a warning before the ClientHello, and some take any version there (mbedTLS).
constexpr char kFirstType = 20, kLastType = 24;
// The ClientHello of SSL 2, which OpenSSL and GnuTLS still take for one of TLS (RFC 5246, E.2): a length whose top bit is set, and its type.
constexpr std::size_t kOldHelloHead = 3;
constexpr char kOldHello = 1;

bool is_of_a_record(char first) { return first >= kFirstType && first <= kLastType; }
bool may_begin_old_hello(char first) { return (static_cast<unsigned char>(first) & 0x80U) != 0; }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
// RFC 9110, 5.6.2.
bool is_a_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
bool is_of_a_token(char c) {
  return is_a_letter(c) || (c >= '0' && c <= '9') || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// What parts words for one server or another (RFC 9112, 3), CPython's, which reads Latin-1, among them.
constexpr std::string_view kBlank = " \t\v\f\r\x1c\x1d\x1e\x1f\x85\xa0";

// What Netty's server passes over before a request, ends of lines too (HttpObjectDecoder, skipControlCharacters); others pass over empty lines.
bool is_passed_over(char c) { return static_cast<unsigned char>(c) <= ' ' || (static_cast<unsigned char>(c) >= 0x7f && static_cast<unsigned char>(c) <= 0xa0); }
std::string_view behind_what_is_passed_over(std::string_view bytes) {
  return bytes.substr(static_cast<std::size_t>(std::ranges::find_if_not(bytes, is_passed_over) - bytes.begin()));
}

std::string_view word_of(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  const auto out = line.substr(0, line.find_first_of(kBlank));
  line.remove_prefix(out.size());
  return out;
}

// What is looked at of a line that is no request by its beginning: its first words, and its end, where a version may be about to begin.
constexpr std::size_t kKeptHead = 128, kKeptTail = 8;
constexpr char kOdd = '\xff';  // of no token, and of no text

// As a word of its own: a ClientHello behind another protocol's words (SOCKS) may have it within.
bool names_a_version(std::string_view line) {
  constexpr std::string_view kVersion = "http/";
  for (std::size_t from = 0;;) {
    const auto found = std::ranges::search(line.substr(from), kVersion, {}, lower);
    if (found.empty()) return false;
    const auto at = static_cast<std::size_t>(found.begin() - line.begin());
    from = at + kVersion.size();
    const bool is_word = at == 0 || kBlank.find(line[at - 1]) != std::string_view::npos;
    if (is_word && from < line.size() && line[from] >= '0' && line[from] <= '9') return true;
  }
}

// Git's own protocol: a NUL, and perhaps more, where a request would go on. Until that is there it may be a method: some servers take any.
bool is_gits(std::string_view line) {
  constexpr std::size_t kDigits = 4;
  return line.size() > kDigits && line.substr(0, kDigits).find_first_not_of("0123456789abcdef") == std::string_view::npos && line.substr(kDigits).starts_with("git-") &&
         line.find('\0') != std::string_view::npos;
}

// Of a line that begins with a token. HTTP/0.9 names no version, and some servers read headers behind that all the same.
bool is_a_request(std::string_view line) {
  for (const std::string_view version : {"http/", "rtsp/", "ice/"}) {  // Node's takes them all for its own
    if (!std::ranges::search(line, version, {}, lower).empty()) return true;
  }
  const auto method = word_of(line), target = word_of(line);
  // Of GET, CPython's takes any word for a target; of Redis' own words no server does.
  if (method == "PROXY" || (method == "GET" && !target.empty())) return true;
  const bool of_all = target.starts_with('*') && !std::ranges::equal(method, std::string_view("keys"), {}, lower);
  return of_all || target.starts_with('/') || target.find("://") != std::string_view::npos;
}

// Whether a line begins as no request should. Some servers take whatever stands before the first blank for a method (CPython's, Netty, gevent), so a line of
// another protocol is not told from a request by that alone.
bool begins_oddly(std::string_view line) {
  std::string_view rest = line;
  const auto method = word_of(rest);
  if (!std::ranges::all_of(method, is_of_a_token) || is_gits(line)) return true;
  // Who parts words so has methods by name; LDAP's first bytes are a digit and a length.
  return rest.substr(0, 1).find_first_not_of(" \t") != std::string_view::npos && !method.empty() && !is_a_letter(method.front());
}

// Of such a line. One that is text needs no version: so do HTTP/0.9's.
bool is_an_odd_request(std::string_view line) {
  if (names_a_version(line)) return true;
  if (is_gits(line)) return false;
  const auto method = word_of(line), target = word_of(line);
  return std::ranges::all_of(method, [](char c) { return c > ' ' && c < 0x7f; }) && target.starts_with('/');
}

}  // namespace

std::optional<Proof> told_apart(std::string_view bytes, bool ended) {
  const auto nothing = ended ? std::optional(Proof::kNone) : std::nullopt;
  if (bytes.empty()) return nothing;
  if (is_of_a_record(bytes.front())) return Proof::kTls;
  if (may_begin_old_hello(bytes.front())) {
    if (bytes.size() < kOldHelloHead) return nothing;
    if (bytes[2] == kOldHello) return Proof::kTls;
  }
  const std::string_view lines = behind_what_is_passed_over(bytes), line = lines.substr(0, lines.find('\n'));
  if (line.empty()) return nothing;
  const bool whole = line.size() < lines.size() || ended;
  if (begins_oddly(line)) {
    if (whole) return is_an_odd_request(line) ? Proof::kHttp : Proof::kNone;
    return names_a_version(line) ? std::optional(Proof::kHttp) : std::nullopt;
  }
  if (whole) return is_a_request(line) ? Proof::kHttp : Proof::kNone;
  return bytes.size() >= kMostFirstBytes ? std::optional(Proof::kHttp) : std::nullopt;
}

void keep_what_tells(std::string& bytes) {
  const std::size_t passed_over = bytes.size() - behind_what_is_passed_over(bytes).size();
  if (passed_over > kOldHelloHead) bytes.erase(kOldHelloHead, passed_over - kOldHelloHead);
  const std::size_t begin = std::min(passed_over, kOldHelloHead);
  const std::string_view line = std::string_view(bytes).substr(begin);
  if (line.size() <= kKeptHead + kKeptTail || !begins_oddly(line)) return;
  bytes.erase(begin + kKeptHead, line.size() - kKeptHead - kKeptTail);
  if (!begins_oddly(std::string_view(bytes).substr(begin))) bytes[begin] = kOdd;
}

}  // namespace cay::gate
