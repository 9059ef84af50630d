#include "gate/told_apart.h"

#include <algorithm>
#include <iterator>

namespace cay::gate {
namespace {

// Types of records: servers pass over a warning before the ClientHello.
constexpr char kFirstType = 20, kLastType = 24;
constexpr std::size_t kRecordTold = 6;  // its head, and the first byte in it
bool is_of_a_record(char first) { return first >= kFirstType && first <= kLastType; }

// Of bytes that begin so. Of a version that there is not, which some take (mbedTLS), what is in it tells whether that first byte was a length: Minecraft's
// client and Source's RCON begin with one.
std::optional<bool> is_a_record(std::string_view bytes) {
  constexpr char kMajor = 3, kChangeCipherSpec = 20, kAlert = 21, kHandshake = 22;
  if (bytes.size() >= 2 && bytes[1] == kMajor) return true;
  if (bytes.size() < kRecordTold) return std::nullopt;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(bytes[i])); };
  const unsigned size = byte(3) << 8 | byte(4);
  if (size == 0) return true;
  switch (bytes[0]) {
    case kHandshake: return byte(5) == 1;  // a ClientHello
    case kAlert: return size == 2 && (byte(5) == 1 || byte(5) == 2);
    case kChangeCipherSpec: return size == 1 && byte(5) == 1;
    default: return false;
  }
}

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
bool is_blank(char c) { return c == '\n' || kBlank.find(c) != std::string_view::npos; }
// Of what is passed over, as CPython's parts it: 2 stands for more.
std::size_t words_in(std::string_view passed_over) {
  std::size_t out = 0;
  for (std::size_t i = 0; i < passed_over.size() && out < 2; ++i) {
    if (!is_blank(passed_over[i]) && (i == 0 || is_blank(passed_over[i - 1]))) ++out;
  }
  return out;
}

std::string_view word_of(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  const auto out = line.substr(0, line.find_first_of(kBlank));
  line.remove_prefix(out.size());
  return out;
}

// What is looked at of a line that is no request by its beginning: its first words and its last, of which the beginning and the end tell what it is.
constexpr std::size_t kKeptBefore = 3, kKeptHead = 128, kKeptTail = 40;
constexpr char kOdd = '\xff';  // of no token, and of no text
constexpr std::string_view kCutOut = " \xff ";  // in the place of words that were left out

std::string_view without_blanks_behind(std::string_view line) { return line.substr(0, line.find_last_not_of(kBlank) + 1); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins(std::string_view word, std::string_view with) { return std::ranges::equal(word.substr(0, with.size()), with, {}, lower); }
constexpr std::string_view kHttp = "http/", kNumbers = "0123456789+-._";

// "HTTP/" and whatever somebody reads as numbers (gevent: "+1.1").
bool is_a_version(std::string_view word) { return begins(word, kHttp) && word.substr(kHttp.size()).find_first_not_of(kNumbers) == std::string_view::npos; }

// Netty's blanks; around a version it takes controls off too (String.trim).
constexpr std::string_view kNettysBlank = " \t\v\f\r";
bool is_trimmed(char c) { return static_cast<unsigned char>(c) <= ' '; }
std::string_view as_netty_trims(std::string_view text) {
  while (!text.empty() && is_trimmed(text.back())) text.remove_suffix(1);
  text.remove_prefix(static_cast<std::size_t>(std::ranges::find_if_not(text, is_trimmed) - text.begin()));
  return text;
}

std::string_view without_what_is_trimmed_behind(std::string_view line) {
  while (!line.empty() && (is_trimmed(line.back()) || kBlank.find(line.back()) != std::string_view::npos)) line.remove_suffix(1);
  return line;
}

// For Netty anything with two numbers behind a slash.
bool is_a_version_to_netty(std::string_view word) {
  const std::size_t slash = word.rfind('/');
  if (slash == std::string_view::npos || slash == 0) return false;
  const std::string_view numbers = word.substr(slash + 1);
  const std::size_t dot = numbers.find('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == numbers.size()) return false;
  return std::ranges::all_of(numbers.substr(0, dot), is_digit) && std::ranges::all_of(numbers.substr(dot + 1), is_digit);
}

// A method, a target, and one word more. Of what was cut nobody knows how many words there were.
bool is_one_to_netty(std::string_view line) {
  const auto part = [&] {
    line.remove_prefix(std::min(line.find_first_not_of(kNettysBlank), line.size()));
    const auto out = line.substr(0, line.find_first_of(kNettysBlank));
    line.remove_prefix(out.size());
    return out;
  };
  const std::string_view whole = as_netty_trims(line);
  if (whole.find(kCutOut) != std::string_view::npos) return is_a_version_to_netty("x" + std::string(whole.substr(whole.find_last_of(kNettysBlank) + 1)));
  part();
  part();
  const std::string_view version = as_netty_trims(line);
  return version.find_first_of(kNettysBlank) == std::string_view::npos && is_a_version_to_netty(version);
}

// As its last word, behind another (Tornado has targets without a character), or begun by its third (cheroot reads all behind the second as one, of methods
// without small letters). `before`: words that Netty passes over, and CPython's takes for a method and a target.
bool has_a_version(std::string_view line, std::size_t before) {
  if (is_one_to_netty(line)) return true;
  std::string_view last;
  bool is_cheroots = true;
  for (std::size_t number = before + 1;; ++number) {
    const std::string_view word = word_of(line);
    if (word.empty()) return number > 2 && is_a_version(last);
    if (number == 1) is_cheroots = std::ranges::none_of(word, [](char c) { return c >= 'a' && c <= 'z'; });
    if (number == 3 && is_cheroots && begins(word, kHttp) && word.size() > kHttp.size() && is_digit(word[kHttp.size()])) return true;
    last = word;
  }
}

// Git's own protocol: a NUL, and perhaps more, where a request would go on. Until that is there it may be a method: some servers take any.
bool is_gits(std::string_view line) {
  constexpr std::size_t kDigits = 4;
  return line.size() > kDigits && line.substr(0, kDigits).find_first_not_of("0123456789abcdef") == std::string_view::npos && line.substr(kDigits).starts_with("git-") &&
         line.find('\0') != std::string_view::npos;
}

// SIP's own, and of methods that both have OPTIONS alone: Netty takes any of them, but so speaks SIP.
bool is_sips(std::string_view method, std::string_view target, std::string_view line) {
  constexpr std::string_view kMethods[] = {"INVITE", "ACK", "BYE", "CANCEL", "REGISTER", "OPTIONS", "SUBSCRIBE", "NOTIFY", "PUBLISH", "INFO", "REFER", "MESSAGE", "UPDATE", "PRACK"};
  return std::ranges::find(kMethods, method) != std::end(kMethods) && (begins(target, "sip:") || begins(target, "sips:")) && without_blanks_behind(line).ends_with(" SIP/2.0");
}

// Whether a word begins with it, and a digit.
bool has_word_with(std::string_view line, std::string_view with) {
  for (auto word = word_of(line); !word.empty(); word = word_of(line)) {
    if (begins(word, with) && word.size() > with.size() && is_digit(word[with.size()])) return true;
  }
  return false;
}

// Of a line that begins with a token. HTTP/0.9 names no version, and some servers read headers behind that all the same.
bool is_a_request(std::string_view line) {
  const std::string_view whole = line;
  const auto method = word_of(line), target = word_of(line);
  if (is_sips(method, target, whole)) return false;
  if (!std::ranges::search(whole, kHttp, {}, lower).empty() || has_a_version(whole, 0)) return true;
  // Node's takes these for its own, and a tunnel without a version.
  if (has_word_with(whole, "rtsp/") || has_word_with(whole, "ice/")) return true;
  if (method == "CONNECT" && !target.empty() && !target.starts_with('{')) return true;  // NATS' has an object
  // Of these CPython's and waitress take any word for a target; waitress of any word in capitals, but so speak SMTP, Redis and NNTP.
  constexpr std::string_view kMethods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"};
  if (method == "PROXY" || (!target.empty() && std::ranges::find(kMethods, method) != std::end(kMethods))) return true;
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

// A last word that may become a version yet, or can no more.
std::string short_word(std::string_view word) {
  if (word.size() <= kKeptTail) return std::string(word);
  const std::string_view tail = word.substr(word.size() - kKeptTail + kHttp.size());
  if (is_a_version(word)) return std::string(kHttp) + std::string(tail);
  if (const std::size_t slash = word.rfind('/'); slash != std::string_view::npos) {
    const std::string_view numbers = word.substr(slash + 1);
    const std::size_t dot = numbers.find('.');
    const bool are_numbers = std::ranges::all_of(numbers, [](char c) { return is_digit(c) || c == '.'; }) && numbers.find('.', dot == std::string_view::npos ? dot : dot + 1) == std::string_view::npos;
    if (are_numbers) return "xxxxx/" + std::string(numbers.empty() || dot == 0 ? "" : "0") + (dot == std::string_view::npos ? "" : ".") + (dot != std::string_view::npos && dot + 1 < numbers.size() ? "0" : "");
  }
  return "xxxxx" + std::string(tail);
}

}  // namespace

std::optional<Proof> told_apart(std::string_view bytes, bool ended) {
  const auto nothing = ended ? std::optional(Proof::kNone) : std::nullopt;
  if (bytes.empty()) return nothing;
  if (is_of_a_record(bytes.front())) {
    const auto is_one = is_a_record(bytes);
    if (is_one.value_or(false)) return Proof::kTls;
    if (!is_one && !ended) return std::nullopt;
  }
  const std::string_view lines = behind_what_is_passed_over(bytes), line = lines.substr(0, lines.find('\n'));
  if (line.empty()) return nothing;
  const bool whole = line.size() < lines.size() || ended;
  if (begins_oddly(line)) {
    if (!whole) return std::nullopt;
    // Without a version it is none: HTTP/0.9 has methods by name, and JSON and logs have words that begin with a slash.
    return has_a_version(line, words_in(bytes.substr(0, bytes.size() - lines.size()))) ? Proof::kHttp : Proof::kNone;
  }
  if (whole) return is_a_request(line) ? Proof::kHttp : Proof::kNone;
  return bytes.size() >= kMostFirstBytes ? std::optional(Proof::kHttp) : std::nullopt;
}

bool is_no_request_yet(std::string_view bytes) {
  const std::string_view line = behind_what_is_passed_over(bytes);
  return begins_oddly(line) || words_in(bytes.substr(0, bytes.size() - line.size())) > 0;
}

void keep_what_tells(std::string& bytes) {
  if (!bytes.empty() && is_of_a_record(bytes.front()) && !is_a_record(bytes)) return;
  const std::size_t passed_over = bytes.size() - behind_what_is_passed_over(bytes).size();
  if (passed_over > kKeptBefore) {
    const std::size_t words = words_in(std::string_view(bytes).substr(0, passed_over));
    const bool parted = is_blank(bytes[passed_over - 1]);
    bytes.erase(kKeptBefore, passed_over - kKeptBefore);
    if (words > 0) bytes.replace(0, kKeptBefore, words > 1 ? "\1 \1" : parted ? "\1\1 " : "\1\1\1");
  }
  const std::size_t begin = std::min(passed_over, kKeptBefore);
  if (!begins_oddly(std::string_view(bytes).substr(begin))) return;
  // Of what some trim at its end one: the word before may be its last. A blank, if one is there, for that parts words.
  const std::size_t end = begin + without_what_is_trimmed_behind(std::string_view(bytes).substr(begin)).size();
  if (end + 1 < bytes.size()) {
    const std::size_t everybodys = bytes.find_first_of(kNettysBlank, end);
    const std::size_t blank = everybodys != std::string::npos ? everybodys : bytes.find_first_of(kBlank, end);
    if (blank != std::string::npos) bytes[end] = bytes[blank];
    bytes.resize(end + 1);
  }
  if (bytes.size() <= begin + kKeptHead + kKeptTail) return;
  const std::size_t last = std::max(bytes.find_last_of(kBlank, end - 1) + 1, begin);  // npos + 1 is 0
  const std::string behind = bytes.substr(end);
  std::string kept = bytes.substr(0, std::min(last, begin + kKeptHead));
  if (last > begin + kKeptHead) kept += kCutOut;
  kept += last > begin ? short_word(std::string_view(bytes).substr(last, end - last)) : bytes.substr(begin, kKeptHead) + bytes.substr(end - kKeptTail, kKeptTail);
  bytes = kept + behind;
  if (!begins_oddly(std::string_view(bytes).substr(begin))) bytes[begin] = kOdd;
}

}  // namespace cay::gate
