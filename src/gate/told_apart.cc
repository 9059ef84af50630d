#include "gate/told_apart.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>

namespace cay::gate {
namespace {

// Types of records: servers pass over a warning before the ClientHello.
constexpr char kFirstType = 20, kLastType = 24;
constexpr std::size_t kRecordHead = 5;
bool is_of_a_record(char first) { return first >= kFirstType && first <= kLastType; }

// Of bytes that begin so. Of a version that there is not, which some take (mbedTLS, wolfSSL), what is in it and behind it tells whether that first byte was a
// length: Minecraft's client and Source's RCON begin with one.
std::optional<bool> is_a_record(std::string_view bytes) {
  using namespace std::string_view_literals;
  constexpr char kMajor = 3, kChangeCipherSpec = 20, kAlert = 21, kHandshake = 22, kClientHello = 1;
  constexpr unsigned kMessageHead = 4;
  constexpr auto kTooShort = "\0\0\x22"sv;  // for a ClientHello, which has a version and random bytes
  if (bytes.size() >= 2 && bytes[1] == kMajor) return true;
  if (bytes.size() <= kRecordHead) return std::nullopt;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(bytes[i])); };
  const unsigned size = byte(3) << 8 | byte(4);
  const char first = bytes[kRecordHead];
  const bool is_a_hello = bytes[0] == kHandshake && first == kClientHello, is_a_change = bytes[0] == kChangeCipherSpec && size == 1 && first == 1;
  const bool is_an_alert = bytes[0] == kAlert && size == 2;  // of any level, for some
  if (size > 0 && !is_a_hello && !is_a_change && !is_an_alert) return false;
  // None of these is all that a client has to say: another record follows, or the ClientHello has a size.
  if (size < kMessageHead) return bytes.size() > kRecordHead + size ? std::optional(is_of_a_record(bytes[kRecordHead + size])) : std::nullopt;
  const auto length = bytes.substr(kRecordHead + 1, kTooShort.size());
  if (length > kTooShort) return true;
  return length.size() == kTooShort.size() ? std::optional(false) : std::nullopt;
}

// Looked up rather than searched for: a guest chooses how many there are to be looked at.
using Chars = std::array<bool, 256>;
constexpr Chars chars_of(std::string_view list) {
  Chars out{};
  for (const char c : list) out[static_cast<unsigned char>(c)] = true;
  return out;
}
bool is_in(const Chars& chars, char c) { return chars[static_cast<unsigned char>(c)]; }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
// RFC 9110, 5.6.2.
bool is_a_letter(char c) { return lower(c) >= 'a' && lower(c) <= 'z'; }
bool is_of_a_token(char c) {
  static constexpr Chars kChars = chars_of("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
  return is_in(kChars, c);
}

// What parts words for one server or another (RFC 9112, 3), CPython's, which reads Latin-1, among them.
constexpr std::string_view kBlank = " \t\v\f\r\x1c\x1d\x1e\x1f\x85\xa0";
bool parts_words(char c) {
  static constexpr Chars kChars = chars_of(kBlank);
  return is_in(kChars, c);
}

// What Netty's server passes over before a request, ends of lines too (HttpObjectDecoder, skipControlCharacters); others pass over empty lines.
bool is_passed_over(char c) { return static_cast<unsigned char>(c) <= ' ' || (static_cast<unsigned char>(c) >= 0x7f && static_cast<unsigned char>(c) <= 0xa0); }
std::string_view behind_what_is_passed_over(std::string_view bytes) {
  return bytes.substr(static_cast<std::size_t>(std::ranges::find_if_not(bytes, is_passed_over) - bytes.begin()));
}
bool is_blank(char c) { return c == '\n' || parts_words(c); }
// Of what is passed over, as CPython's parts it: 2 stands for more. What no blank has ended is of the word behind it.
std::size_t words_in(std::string_view passed_over) {
  std::size_t out = 0;
  for (std::size_t i = 1; i < passed_over.size() && out < 2; ++i) {
    if (is_blank(passed_over[i]) && !is_blank(passed_over[i - 1])) ++out;
  }
  return out;
}

std::string_view word_of(std::string_view& line) {
  line.remove_prefix(static_cast<std::size_t>(std::ranges::find_if_not(line, parts_words) - line.begin()));
  const auto out = line.substr(0, static_cast<std::size_t>(std::ranges::find_if(line, parts_words) - line.begin()));
  line.remove_prefix(out.size());
  return out;
}

// What is looked at of a line that is no request by its beginning: its first words and its last, of which the beginning and the end tell what it is.
constexpr std::size_t kKeptBefore = 5, kKeptHead = 128, kKeptTail = 40;
constexpr char kOdd = '\xff';  // of no token, and of no text
constexpr std::string_view kCutOut = "\t\xff\t";  // in the place of words that were left out: without a space, at which cheroot parts

std::string_view without_blanks_behind(std::string_view line) { return line.substr(0, line.find_last_not_of(kBlank) + 1); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins(std::string_view word, std::string_view with) { return std::ranges::equal(word.substr(0, with.size()), with, {}, lower, lower); }
constexpr std::string_view kHttp = "HTTP/", kNumbers = "0123456789+-._";

// "HTTP/" and whatever somebody reads as numbers (gevent: "+1.1").
bool is_a_version(std::string_view word) { return begins(word, kHttp) && word.substr(kHttp.size()).find_first_not_of(kNumbers) == std::string_view::npos; }

// Netty's blanks; around a version it takes controls off too (String.trim).
constexpr std::string_view kNettysBlank = " \t\v\f\r", kOnlyCPythons = "\x85\xa0";
bool is_trimmed(char c) { return static_cast<unsigned char>(c) <= ' '; }
std::string_view as_netty_trims(std::string_view text) {
  while (!text.empty() && is_trimmed(text.back())) text.remove_suffix(1);
  text.remove_prefix(static_cast<std::size_t>(std::ranges::find_if_not(text, is_trimmed) - text.begin()));
  return text;
}

std::string_view without_what_is_trimmed_behind(std::string_view line) {
  while (!line.empty() && (is_trimmed(line.back()) || parts_words(line.back()))) line.remove_suffix(1);
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

// How far a line has come for cheroot, which strips it, parts it at its first two spaces, whatever other blanks there are, and has int() read both numbers of
// the version, blanks and a sign before them: what stands behind the first number is not looked at here.
constexpr std::string_view kStripped = " \t\n\v\f\r";
struct ForCheroot {
  enum class At : std::uint8_t { kMethod, kTarget, kVersion, kBehindIt, kNowhere } at;
  bool has_sign = false;           // of kVersion: before its first number
  std::string_view version{};  // of kVersion: what is there of "HTTP/"
};

// Of what Netty passes over before a line, and the line. Of methods without small letters.
ForCheroot for_cheroot(std::string_view all) {
  using At = ForCheroot::At;
  all.remove_prefix(std::min(all.find_first_not_of(kStripped), all.size()));
  const auto to_space = [&] {
    const auto out = all.substr(0, all.find(' '));
    all.remove_prefix(std::min(out.size() + 1, all.size()));
    return out;
  };
  const char* const end = all.data() + all.size();
  const auto method = to_space(), target = to_space();
  if (std::ranges::any_of(method, [](char c) { return c >= 'a' && c <= 'z'; })) return {At::kNowhere};
  if (method.data() + method.size() == end) return {At::kMethod};
  if (target.empty() ? target.data() < end : is_passed_over(target.front())) return {At::kNowhere};
  if (target.data() + target.size() == end) return {At::kTarget};
  const auto version = all.substr(0, kHttp.size());
  if (!begins(kHttp, version)) return {At::kNowhere};
  const auto number = all.substr(version.size()), behind = number.substr(std::min(number.find_first_not_of(kStripped), number.size()));
  const bool has_sign = behind.starts_with('+') || behind.starts_with('-');
  const auto digits = behind.substr(has_sign ? 1 : 0);
  if (digits.empty()) return {At::kVersion, has_sign, version};
  return {is_digit(digits.front()) ? At::kBehindIt : At::kNowhere};
}

// As its last word, behind another (Tornado has targets without a character). What Netty passes over stands before it: CPython's takes words of that for a
// method and a target.
bool has_a_version(std::string_view all, std::size_t size_passed_over) {
  const std::string_view passed_over = all.substr(0, size_passed_over);
  std::string_view line = all.substr(size_passed_over);
  if (is_one_to_netty(line) || for_cheroot(all).at == ForCheroot::At::kBehindIt) return true;
  std::string_view last;
  for (std::size_t number = words_in(passed_over) + 1;; ++number) {
    const std::string_view word = word_of(line);
    if (word.empty()) return number > 2 && is_a_version(last);
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
  if (!std::ranges::search(whole, kHttp, {}, lower, lower).empty() || has_a_version(whole, 0)) return true;
  // Node's takes these for its own, and a tunnel without a version.
  if (has_word_with(whole, "rtsp/") || has_word_with(whole, "ice/")) return true;
  if (method == "CONNECT" && !target.empty() && !target.starts_with('{')) return true;  // NATS' has an object
  // Of these CPython's and waitress take any word for a target; waitress of any word in capitals, but so speak SMTP, Redis and NNTP.
  constexpr std::string_view kMethods[] = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"};
  if (method == "PROXY" || (!target.empty() && std::ranges::find(kMethods, method) != std::end(kMethods))) return true;
  // Twisted's takes any three words for a request, and asks for no version; NNTP's HEAD has one behind it at most.
  if (method == "HEAD" && !word_of(line).empty()) return true;
  const bool of_all = target.starts_with('*') && !std::ranges::equal(method, std::string_view("keys"), {}, lower);
  return of_all || target.starts_with('/') || target.find("://") != std::string_view::npos;
}

// Whether a line begins as no request should. Some servers take whatever stands before the first blank for a method (CPython's, Netty, gevent), so a line of
// another protocol is not told from a request by that alone.
bool begins_oddly(std::string_view line, Looked& looked) {
  std::size_t& word = looked.word;
  while (word < line.size() && is_of_a_token(line[word])) ++word;
  const bool parted = word < line.size();
  if ((parted && !parts_words(line[word])) || is_gits(line)) return true;
  // Who parts words so has methods by name; LDAP's first bytes are a digit and a length.
  return parted && line[word] != ' ' && line[word] != '\t' && !is_a_letter(line.front());
}
bool begins_oddly(std::string_view line) {
  Looked looked;
  return begins_oddly(line, looked);
}

// A last word that may become a version yet, or can no more. Without small letters, which cheroot's methods have none of.
std::string short_word(std::string_view word) {
  if (word.size() <= kKeptTail) return std::string(word);
  // As Netty reads it; nullopt: it is none to it, whatever follows.
  const auto in_short = [](std::string_view numbers) -> std::optional<std::string> {
    const std::size_t dot = std::min(numbers.find('.'), numbers.size());
    const bool are_numbers = std::ranges::all_of(numbers.substr(0, dot), is_digit) && (dot == numbers.size() || std::ranges::all_of(numbers.substr(dot + 1), is_digit));
    if (!are_numbers) return std::nullopt;
    return std::string(dot == 0 ? "" : "0") + (dot == numbers.size() ? "" : ".") + (dot + 1 < numbers.size() ? "0" : "");
  };
  if (is_a_version(word)) return std::string(kHttp) + in_short(word.substr(kHttp.size())).value_or("+0");
  if (const std::size_t slash = word.rfind('/'); slash != std::string_view::npos) {
    if (const auto numbers = in_short(word.substr(slash + 1))) return "XXXXX/" + *numbers;
  }
  return "XXXXX" + std::string(word.substr(word.size() - kKeptTail + kHttp.size()));
}

// What some trim at the end of a line, where the word before may be the last. What parts words stays, a space rather than another blank, and so does a word of
// controls, which to Netty may be a target.
std::string trimmed_in_short(std::string_view trimmed) {
  const auto one_of = [](std::string_view some, std::string_view rather) {
    const std::size_t found = some.find_first_of(rather);
    return found != std::string_view::npos ? some[found] : some.back();
  };
  const auto control_of = [&](std::string_view some) { return one_of(some, some.find_first_of(kOnlyCPythons) != std::string_view::npos ? kOnlyCPythons : kBlank); };
  const std::size_t blank = std::min(trimmed.find_first_of(kNettysBlank), trimmed.size());
  if (blank == trimmed.size()) return {control_of(trimmed)};
  const std::size_t word = std::min(trimmed.find_first_not_of(kNettysBlank, blank), trimmed.size());
  const std::size_t behind = std::min(trimmed.find_first_of(kNettysBlank, word), trimmed.size());
  const std::size_t last = trimmed.find_last_of(kNettysBlank) + 1;
  std::string out{one_of(trimmed.substr(blank, word - blank), " ")};
  if (word < behind) out += control_of(trimmed.substr(word, behind - word));
  if (behind < last) out += one_of(trimmed.substr(behind, last - behind), " ");
  if (behind < last && last < trimmed.size()) out += control_of(trimmed.substr(last));
  return out;
}

// What stands for the words of a line before its last, or for all of it where that is of a version already. cheroot is where it was.
std::string in_short(const ForCheroot& cheroot, std::string_view last_word) {
  using At = ForCheroot::At;
  const std::string out = kOdd + std::string(kCutOut);
  switch (cheroot.at) {
    case At::kMethod: return out + short_word(last_word);
    case At::kTarget: return out + " /\t" + short_word(last_word);
    case At::kVersion: return out + " / " + std::string(cheroot.version) + (cheroot.has_sign ? "+" : "");
    case At::kBehindIt: return out + " / HTTP/1 " + short_word(last_word);
    case At::kNowhere: break;
  }
  return kOdd + ("x" + std::string(kCutOut)) + short_word(last_word);
}

}  // namespace

std::optional<Proof> told_apart(std::string_view bytes, bool ended, Looked* looked) {
  Looked nothing_yet;
  const auto nothing = ended ? std::optional(Proof::kNone) : std::nullopt;
  if (bytes.empty()) return nothing;
  if (is_of_a_record(bytes.front())) {
    const auto is_one = is_a_record(bytes);
    if (is_one.value_or(false)) return Proof::kTls;
    if (!is_one && !ended) return std::nullopt;
  }
  const std::string_view lines = behind_what_is_passed_over(bytes), line = lines.substr(0, lines.find('\n'));
  if (line.empty()) return nothing;
  const std::size_t passed_over = bytes.size() - lines.size();
  const bool whole = line.size() < lines.size() || ended;
  if (begins_oddly(line, looked != nullptr ? *looked : nothing_yet)) {
    if (!whole) return std::nullopt;
    // Without a version it is none: HTTP/0.9 has methods by name, and JSON and logs have words that begin with a slash.
    return has_a_version(bytes.substr(0, passed_over + line.size()), passed_over) ? Proof::kHttp : Proof::kNone;
  }
  if (whole) return is_a_request(line) ? Proof::kHttp : Proof::kNone;
  return bytes.size() >= kMostFirstBytes ? std::optional(Proof::kHttp) : std::nullopt;
}

bool is_no_request_yet(std::string_view bytes, Looked* looked) {
  Looked nothing_yet;
  if (bytes.size() >= kRecordHead && is_of_a_record(bytes.front()) && !is_a_record(bytes)) return false;  // a whole one may be passed over
  const std::string_view line = behind_what_is_passed_over(bytes);
  return begins_oddly(line, looked != nullptr ? *looked : nothing_yet) || !std::ranges::all_of(bytes.substr(0, bytes.size() - line.size()), is_blank);
}

void keep_what_tells(std::string& bytes, Looked* looked) {
  Looked nothing_yet;
  if (!bytes.empty() && is_of_a_record(bytes.front())) {
    if (!is_a_record(bytes)) return;
    bytes.front() = '\1';  // it was no record, and is none with less behind it
  }
  std::size_t begin = bytes.size() - behind_what_is_passed_over(bytes).size();
  if (begin > kKeptBefore) {
    // Its words, its last character, which may be of the word behind it, and whether there is more of it than cheroot strips.
    const auto passed_over = std::string_view(bytes).substr(0, begin);
    const std::size_t words = words_in(passed_over);
    const bool is_stripped = passed_over.find_first_not_of(kStripped) == std::string_view::npos;
    bytes.replace(0, begin - 1, words > 1 ? "\1\t\1\t" : words > 0 ? "\1\1\1\t" : is_stripped ? "\t\t\t\t" : "\x1c\x1c\x1c\x1c");
    begin = kKeptBefore;
  }
  if (looked == nullptr) looked = &nothing_yet;
  if (!begins_oddly(std::string_view(bytes).substr(begin), *looked)) return;
  if (bytes.size() <= begin + kKeptHead + kKeptTail) return;
  *looked = {};
  const std::size_t end = begin + without_what_is_trimmed_behind(std::string_view(bytes).substr(begin)).size();
  if (end + 1 < bytes.size()) bytes.replace(end, std::string::npos, trimmed_in_short(std::string_view(bytes).substr(end)));
  if (bytes.size() > begin + kKeptHead + kKeptTail) {
    const std::size_t last = std::max(bytes.find_last_of(kBlank, end - 1) + 1, begin);  // npos + 1 is 0
    const std::string behind = bytes.substr(end);
    const auto whole = std::string_view(bytes).substr(0, end), last_word = whole.substr(last);
    const auto cheroot = for_cheroot(whole);
    if (last > begin + kKeptHead || cheroot.at == ForCheroot::At::kBehindIt) {
      bytes = in_short(cheroot, last_word) + behind;
      return;
    }
    std::string kept(whole.substr(0, last));
    kept += last > begin ? short_word(last_word) : std::string(last_word.substr(0, kKeptHead)) + std::string(last_word.substr(last_word.size() - kKeptTail));
    bytes = kept + behind;
  }
  if (!begins_oddly(std::string_view(bytes).substr(begin))) bytes.insert(begin, 1, kOdd);
}

}  // namespace cay::gate
