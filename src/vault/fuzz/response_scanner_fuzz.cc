// The response scanner: a secret in any encoding that it covers never comes out, however the
// response is cut and whatever stands around the secret.
//
// A response without a secret comes out whole and unchanged. How much is held back depends on
// sizes, boundaries and pauses alone.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "codec/base64.h"
#include "tests/fuzz/pieces.h"
#include "vault/message_boundaries.h"
#include "vault/response_scanner.h"
#include "vault/secret_encodings.h"
#include "vault/secret_matcher.h"

namespace {

using namespace cay::vault;
using Kind = MessageBoundaries::Kind;

// A usual key, one with every kind of character that encoders escape, and one that contains
// escapes.
constexpr std::string_view kSecrets[] = {"sk-live-0123456789abcdef", "s/k \"a\\b'<c>&d=e+f`g~*(h)",
                                         "nvapi%41\\u0042%25=="};

// As the vault has it: one for all who look for the same.
SecretMatcher matcher_for(std::string_view secret) {
  static EncodingCache cache;
  std::vector<cay::Wiped> secrets;
  secrets.emplace_back(std::string(secret));
  SecretMatcher made = cache.matcher({}, secrets);
  CAY_ASSERT(cache.matcher({}, secrets).shares_encodings_with(made));
  CAY_ASSERT(cache.matcher(made, secrets).shares_encodings_with(made));
  return made;
}

struct Sought {
  explicit Sought(std::string_view of) : secret(of), encodings(of), matcher(matcher_for(of)) {}
  // Decodes all that follows each position, as the plainest search would.
  bool stands_in(std::string_view text) const {
    bool found = false;
    for (std::size_t at = 0; at < text.size() && !found; ++at) {
      const std::string_view rest = text.substr(at, encodings.longest());
      found = begins(rest, Escaping::kNone) || begins(rest, Escaping::kPercent) ||
              begins(rest, Escaping::kJson);
    }
    CAY_ASSERT(found == matcher.finds_in(text));
    return found;
  }

  std::string_view secret;
  SecretEncodings encodings;
  SecretMatcher matcher;

 private:
  bool may_begin(char c) const {
    return std::ranges::any_of(encodings.patterns(), [c](const SecretEncodings::Pattern& one) {
      return one.text.view().front() == c;
    });
  }
  bool begins(std::string_view text, Escaping escaping) const {
    std::string all, without_white_space;
    for (std::size_t at = 0; at < text.size();) {
      const Character next = first_character(text.substr(at), escaping);
      CAY_ASSERT(next.size > 0 && next.size <= kMostGrowth);
      if (at == 0 && !may_begin(next.value)) return false;
      at += next.size;
      // Forms write a blank as a plus sign.
      const bool is_plus = escaping == Escaping::kPercent && next.size == 1 && next.value == '+';
      const bool is_blank = is_plus && all.size() < secret.size() && secret[all.size()] == ' ';
      all += is_blank ? ' ' : next.value;
      const bool white = std::string_view(" \t\r\n").find(next.value) != std::string_view::npos;
      if (!white) without_white_space += next.value;
    }
    return std::ranges::any_of(encodings.patterns(), [&](const SecretEncodings::Pattern& one) {
      return (one.is_base64 ? without_white_space : all).starts_with(one.text.view());
    });
  }
};

const Sought& sought(std::size_t which) {
  static const Sought all[] = {Sought(kSecrets[0]), Sought(kSecrets[1]), Sought(kSecrets[2])};
  return all[which % std::size(all)];
}

std::string each(std::string_view text, const char* form, std::string_view keeps = "") {
  std::string out;
  for (const char c : text) {
    const bool is_kept = keeps.find(c) != std::string_view::npos;
    char one[16] = {c, 0};
    if (!is_kept) std::snprintf(one, sizeof one, form, static_cast<unsigned>(c));
    out += one;
  }
  return out;
}

std::string json(std::string_view text, bool slashes) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\' || (slashes && c == '/')) out += '\\';
    out += c;
  }
  return out;
}

// The choices of the input.
struct Choice {
  unsigned form, before, behind;
  bool breaks, for_urls;
};

constexpr std::string_view kUnreserved =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~";

std::string base64(const Choice& choice, std::string_view secret) {
  const std::string before(choice.before, 'u'), behind(choice.behind, 'v');
  std::string out = cay::codec::base64(before + std::string(secret) + behind);
  if (choice.for_urls) std::ranges::replace(out, '+', '-');
  if (choice.for_urls) std::ranges::replace(out, '/', '_');
  constexpr std::string_view kBreaks[] = {"\n", "\r\n", "\r\n ", "\n\t", "\n\n"};
  if (!choice.breaks) return out;
  const std::string_view one = kBreaks[choice.behind % std::size(kBreaks)];
  for (std::size_t at = 4 + choice.before; at + 2 < out.size(); at += 10 + one.size())
    out.insert(at, one);
  return out;
}

constexpr unsigned kForms = 12;

std::string form_of(const Choice& choice, std::string_view secret) {
  switch (choice.form) {
    case 0: return "";
    case 1: return std::string(secret);
    case 2: return each(secret, "%%%02X");
    case 3: return each(secret, "%%%02x", kUnreserved);
    case 4: {
      std::string out = each(secret, "%%%02X", std::string(kUnreserved) + " ");
      std::ranges::replace(out, ' ', '+');
      return out;
    }
    case 5: return json(secret, false);
    case 6: return json(secret, true);
    case 7: return each(secret, "\\u%04x");
    case 8: return base64(choice, secret);
    case 9: return json(base64(choice, secret), true);
    case 10: return each(base64(choice, secret), "%%%02X", kUnreserved);
    default: return each(base64(choice, secret), "\\u%04X", kUnreserved);
  }
}

struct Answer {
  std::string bytes;
  std::size_t begin = 0, end = 0;  // where the secret's form stands
};

// The text in frames of a WebSocket of `size` bytes. Unless `whole`, each second one ends a
// message. `pongs` puts a control frame behind each.
Answer in_frames(const Answer& answer, std::size_t size, bool whole, bool pongs) {
  Answer out;
  bool more = false;
  for (std::size_t at = 0; at < answer.bytes.size(); at += size) {
    const std::string_view said = std::string_view(answer.bytes).substr(at, size);
    const bool last = at + size >= answer.bytes.size() || (!whole && at / size % 2 == 1);
    out.bytes += static_cast<char>((more ? 0 : 1) | (last ? 0x80 : 0));
    out.bytes += static_cast<char>(said.size());
    if (answer.begin >= at && answer.begin < at + said.size())
      out.begin = out.bytes.size() + answer.begin - at;
    if (answer.end > at && answer.end <= at + said.size())
      out.end = out.bytes.size() + answer.end - at;
    out.bytes += said;
    more = !last;
    if (pongs) out.bytes += std::string_view("\x8a\3any");
  }
  return out;
}

// Returns whether the scanner cut the response. Checks each step: what comes out depends on the
// number of bytes alone.
bool was_cut(const Sought& sought, const Answer& answer, Kind kind, std::uint8_t where,
             bool pauses) {
  cay::fuzz::Pieces pieces(answer.bytes, where);
  ResponseScanner scanner(sought.matcher, kind);
  MessageBoundaries boundaries(kind);
  const std::size_t longest = sought.matcher.longest();
  std::string out, text, asides;
  std::size_t came = 0, by_boundaries = 0;
  for (auto piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
    const auto passed = scanner.pass(std::string(piece));
    if (!passed) {
      CAY_ASSERT(scanner.release().empty() && !scanner.holds_back());
      if (answer.end == 0) return true;
      const bool fits = answer.end - answer.begin <= longest;
      if (fits) CAY_ASSERT(out.size() <= std::max(answer.begin, by_boundaries));
      CAY_ASSERT(out.size() < answer.end);
      return true;
    }
    const std::size_t before = out.size();
    out += *passed;
    boundaries.read(piece, text, asides);
    came += piece.size();
    CAY_ASSERT(out.size() == std::max(before, came - std::min(came, longest - 1)));
    if (pauses) {
      const auto boundary = static_cast<std::size_t>(boundaries.last());
      CAY_ASSERT(scanner.holds_boundary() == (boundary > out.size()));
      out += scanner.release_to_boundary();
      by_boundaries = std::max(by_boundaries, boundary);
      CAY_ASSERT(out.size() >= by_boundaries && !scanner.holds_boundary());
    }
    CAY_ASSERT(std::string_view(answer.bytes).starts_with(out));
    CAY_ASSERT(scanner.holds_back() == (out.size() < came));
  }
  out += scanner.release();
  CAY_ASSERT(out == answer.bytes);
  return false;
}

}  // namespace

// Bytes 0 to 4 choose the secret, the boundaries and layout, the encoding, and the secret's place.
// They also choose how the response is cut, and the surroundings within base64 or the frames. The
// rest is other content.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kChoices = 5;
  if (size < kChoices) return 0;
  const Sought& one = sought(data[0] & 3);
  constexpr Kind kKinds[] = {Kind::kNone, Kind::kEvents, Kind::kLines, Kind::kMessages};
  const Kind kind = kKinds[data[0] >> 2 & 3];
  const Choice choice{data[1] % kForms, data[4] & 7U, data[4] >> 3 & 7U, (data[0] & 16) != 0,
                      (data[0] & 32) != 0};
  const std::string_view around(reinterpret_cast<const char*>(data) + kChoices, size - kChoices);
  const std::string form = form_of(choice, one.secret);
  Answer answer;
  answer.begin = around.size() * data[2] / 256;
  answer.bytes =
      std::string(around.substr(0, answer.begin)) + form + std::string(around.substr(answer.begin));
  answer.end = form.empty() ? 0 : answer.begin + form.size();
  // Otherwise the bytes are the frames of a hostile server.
  const bool framed = kind == Kind::kMessages && (data[1] & 128) == 0;
  if (framed)
    answer =
        in_frames(answer, std::size_t{1} + data[4] % 125, (data[4] & 128) != 0, (data[3] & 1) != 0);
  std::string text, asides;
  MessageBoundaries(kind).read(answer.bytes, text, asides);
  const bool there = one.stands_in(text) || one.stands_in(asides);
  if (!form.empty() && (framed || kind != Kind::kMessages)) CAY_ASSERT(there);
  // In a hostile server's frames it may stand across a head.
  if (kind == Kind::kMessages && !framed) answer.end = 0;
  const bool pauses = (data[0] & 128) != 0;
  CAY_ASSERT(was_cut(one, answer, kind, data[3], pauses) == there);
  return 0;
}
