// The watch over what a server says: a secret that is put into it, in any of the forms that are looked for, never comes out, however it is cut, and what
// stands around it; what has none comes out whole and unchanged; and how much is held back depends on nothing but sizes, seams and silences.
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
#include "vault/normaliser.h"
#include "vault/reflection.h"
#include "vault/seams.h"
#include "vault/watched.h"
#include "vault/written.h"

namespace {

using namespace cay::vault;
using Kind = Seams::Kind;

// A usual key, one with every kind of byte that some writer escapes, and one whose first and last are what a layout may leave out.
constexpr std::string_view kSecrets[] = {"sk-live-0123456789abcdef", "s/k \"a\\b'<c>&d=e+f`g~*(h)", "nvapi,  0123/=="};

// As the vault has it: one for all who look for the same.
ReflectionWatch watch_for(std::string_view secret) {
  static SharedWatches shared;
  std::vector<cay::Wiped> secrets;
  secrets.emplace_back(std::string(secret));
  ReflectionWatch made = shared.of({}, secrets);
  CAY_ASSERT(shared.of({}, secrets).has_tables_of(made) && shared.of(made, secrets).has_tables_of(made));
  return made;
}

struct Sought {
  explicit Sought(std::string_view of) : secret(of), watch(watch_for(of)) {
    using After = Normaliser::After;
    std::vector<std::string> ways;
    for (const cay::Wiped& way : written(of)) ways.emplace_back(way.view());
    for (std::size_t i = 0; i + 1 < of.size(); ++i) {
      if (of[i] == '=' || of[i] == '\\') ways.push_back(std::string(of.substr(0, i + 1)) + "\n" + std::string(of.substr(i + 1)));
    }
    for (const std::string& way : ways) {
      for (const After before : {After::kText, After::kBackslash, After::kBreak}) {
        std::string one = normalised(way, before);
        if (one.size() < kLeastWritten) continue;
        while (one.size() > kLeastWritten && (one.back() == '=' || one.back() == '\\')) one.pop_back();
        needles.push_back(std::move(one));
      }
    }
    std::ranges::sort(needles);
    const auto twice = std::ranges::unique(needles);
    needles.erase(twice.begin(), twice.end());
  }
  // One after the other, as the plainest search would.
  bool stands_in(std::string_view text) const {
    const std::string plain = normalised(text);
    const bool found = std::ranges::any_of(needles, [&](const std::string& one) { return plain.find(one) != std::string::npos; });
    CAY_ASSERT(found == watch.holds(text));
    return found;
  }

  std::string_view secret;
  ReflectionWatch watch;
  std::vector<std::string> needles;
};

const Sought& sought(std::size_t which) {
  static const Sought all[] = {Sought(kSecrets[0]), Sought(kSecrets[1]), Sought(kSecrets[2])};
  return all[which % std::size(all)];
}

std::string each(std::string_view secret, const char* form, std::string_view between = "") {
  std::string out;
  for (const char c : secret) {
    char one[16];
    const int size = std::snprintf(one, sizeof one, form, static_cast<unsigned>(static_cast<unsigned char>(c)));
    if (!out.empty()) out += between;
    out.append(one, static_cast<std::size_t>(size));
  }
  return out;
}

std::string percent(std::string_view secret, std::string_view keeps) {
  std::string out;
  for (const char c : secret) {
    const bool kept = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || keeps.find(c) != std::string_view::npos;
    out += kept ? std::string(1, c) : each({&c, 1}, "%%%02X");
  }
  return out;
}

std::string json(std::string_view secret, bool slashes) {
  std::string out;
  for (const char c : secret) {
    if (c == '"' || c == '\\' || (slashes && c == '/')) out += '\\';
    out += c;
  }
  return out;
}

std::string html(std::string_view secret) {
  std::string out;
  for (const char c : secret) {
    constexpr std::string_view kSpecial = "&<>\"'";
    constexpr std::string_view kWritten[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#x27;"};
    const std::size_t at = kSpecial.find(c);
    out += at == std::string_view::npos ? std::string_view(&c, 1) : kWritten[at];
  }
  return out;
}

std::string base64(std::string_view text, unsigned before, unsigned behind, bool for_urls) {
  std::string out = cay::codec::base64(std::string(before, 'u') + std::string(text) + std::string(behind, 'v'));
  if (!for_urls) return out;
  std::ranges::replace(out, '+', '-');
  std::ranges::replace(out, '/', '_');
  return out;
}

// What the input chooses.
struct Choice {
  unsigned form, before, behind;
  bool breaks, capitals, wide;
};

// As strings of programs have it, expressions, SQL.
std::string escaped(std::string_view secret, std::string_view signs, char by) {
  std::string out;
  for (const char c : secret) {
    if (signs.find(c) != std::string_view::npos) out += by == '\0' ? c : by;
    out += c;
  }
  return out;
}

constexpr unsigned kForms = 31, kPlain = 7;  // of the first letters alone are: they may stand in lines

std::string form_of(const Choice& choice, std::string_view secret) {
  const auto [form, before, behind, breaks, capitals, wide] = choice;
  switch (form) {
    case 0: return "";
    case 1: return std::string(secret);
    case 2: return each(secret, "%02x");
    case 3: return base64(secret, before, behind, false);
    case 4: return base64(secret, before, behind, true);
    case 5: return base64(base64(secret, before, behind, false), behind, before, false);
    case 6: return base64(base64(secret, before, behind, true), behind, before, true);
    case 7: return each(secret, "%02x", ":");
    case 8: return each(secret, "%02x", " ");
    case 9: return each(secret, "%02x", "-");
    case 10: return each(secret, "0x%02x", ", ");
    case 11: return each(secret, "%%%02X");
    case 12: return percent(secret, "-_.~");
    case 13: return percent(secret, "-_.!~*'()");
    case 14: return percent(secret, "-_.~/");
    case 15: return json(secret, false);
    case 16: return json(secret, true);
    case 17: return each(secret, "\\u%04x");
    case 18: return each(secret, "\\x%02x");
    case 19: return each(secret, "\\%03o");
    case 20: return each(secret, "\\u{%02x}");
    case 21: return each(secret, "%u", ", ");
    case 22: return each(secret, "%u", ",\r\n    ");
    case 23: return each(secret, "&#%u;");
    case 24: return each(secret, "&#x%02x;");
    case 25: return percent(secret, "-_.~$&+=:@");
    case 26: return percent(secret, "-_.~$&+=:@,/;");
    case 27: return escaped(secret, "'\"\\", '\\');
    case 28: return escaped(secret, " !\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~", '\\');
    case 29: return escaped(secret, "'", '\0');
    default: return html(secret);
  }
}

std::string laid_out(const Choice& choice, std::string_view secret) {
  std::string out = form_of(choice, secret);
  if (choice.capitals) std::ranges::transform(out, out.begin(), [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  constexpr std::string_view kBreaks[] = {"\n", "\r\n", "\r\n ", "\\n", "\\r\\n", "=\r\n", "\\\n", "\n\n"};
  // A backslash or '=' of the secret's own would be one of the break's.
  if (choice.breaks && choice.form < kPlain && (choice.form > 1 || secret == kSecrets[0])) {
    const std::string_view one = kBreaks[choice.behind % std::size(kBreaks)];
    for (std::size_t at = 4 + choice.before; at + 2 < out.size(); at += 10 + one.size()) out.insert(at, one);
  }
  if (!choice.wide) return out;
  std::string wide;
  for (const char c : out) wide.append({c, '\0'});
  return wide;
}

struct Answer {
  std::string bytes;
  std::size_t begin = 0, end = 0;  // where the secret's form stands
};

// A WebSocket's: the text in frames of so many bytes, of which each second is the last of a message, with pongs between them where asked for.
Answer in_frames(const Answer& answer, std::size_t size, bool whole, bool pongs) {
  Answer out;
  bool more = false;
  for (std::size_t at = 0; at < answer.bytes.size(); at += size) {
    const std::string_view said = std::string_view(answer.bytes).substr(at, size);
    const bool last = at + size >= answer.bytes.size() || (!whole && at / size % 2 == 1);
    out.bytes += static_cast<char>((more ? 0 : 1) | (last ? 0x80 : 0));
    out.bytes += static_cast<char>(said.size());
    if (answer.begin >= at && answer.begin < at + said.size()) out.begin = out.bytes.size() + answer.begin - at;
    if (answer.end > at && answer.end <= at + said.size()) out.end = out.bytes.size() + answer.end - at;
    out.bytes += said;
    more = !last;
    if (pongs) out.bytes += std::string_view("\x8a\3any");
  }
  return out;
}

// Says what came of it, and holds what is let out against what is to be let out of so many bytes, whatever they are.
bool was_cut(const Sought& sought, const Answer& answer, Kind kind, std::uint8_t where, bool silences) {
  cay::fuzz::Pieces pieces(answer.bytes, where);
  Watched watched(sought.watch, kind);
  Seams seams(kind);
  std::string out, text, asides;
  std::size_t came = 0, by_seams = 0;
  for (auto piece = pieces.next(); !piece.empty(); piece = pieces.next()) {
    const auto passed = watched.pass(std::string(piece));
    if (!passed) {
      CAY_ASSERT(watched.release().empty() && !watched.holds_back());
      if (answer.end == 0) return true;
      const bool at_length = answer.end - answer.begin > sought.watch.reach();
      if (!at_length) CAY_ASSERT(out.size() <= std::max(answer.begin, by_seams));
      CAY_ASSERT(out.size() < answer.end);
      return true;
    }
    const std::size_t before = out.size();
    out += *passed;
    seams.read(piece, text, asides);
    came += piece.size();
    CAY_ASSERT(out.size() == std::max(before, came - std::min(came, sought.watch.reach() - 1)));
    if (silences) {
      const auto seam = static_cast<std::size_t>(seams.last());
      CAY_ASSERT(watched.holds_a_seam() == (seam > out.size()));
      out += watched.release_to_seam();
      if (seam > by_seams) by_seams = seam;
      CAY_ASSERT(out.size() >= by_seams && !watched.holds_a_seam());
    }
    CAY_ASSERT(std::string_view(answer.bytes).starts_with(out) && watched.holds_back() == (out.size() < came));
  }
  out += watched.release();
  CAY_ASSERT(out == answer.bytes);
  return false;
}

}  // namespace

// The first bytes: the secret, the seams and how the form is laid out; the form; where it stands; how the answer is cut; its surroundings within base64, or
// its frames. Then what the server says besides.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kChoices = 5;
  if (size < kChoices) return 0;
  const Sought& one = sought(data[0] & 3);
  constexpr Kind kKinds[] = {Kind::kNone, Kind::kEvents, Kind::kLines, Kind::kMessages};
  const Kind kind = kKinds[data[0] >> 2 & 3];
  const Choice choice{data[1] % kForms, data[4] & 7U, data[4] >> 3 & 7U, (data[0] & 16) != 0, (data[0] & 32) != 0, (data[0] & 64) != 0};
  const std::string_view around(reinterpret_cast<const char*>(data) + kChoices, size - kChoices);
  const std::string form = laid_out(choice, one.secret);
  Answer answer;
  answer.begin = around.size() * data[2] / 256;
  answer.bytes = std::string(around.substr(0, answer.begin)) + form + std::string(around.substr(answer.begin));
  answer.end = form.empty() ? 0 : answer.begin + form.size();
  // As it is, it is what frames a hostile server makes.
  const bool framed = kind == Kind::kMessages && (data[1] & 128) == 0;
  if (framed) answer = in_frames(answer, std::size_t{1} + data[4] % 125, (data[4] & 128) != 0, (data[3] & 1) != 0);
  std::string text, asides;
  Seams(kind).read(answer.bytes, text, asides);
  const bool there = one.stands_in(text) || one.stands_in(asides);
  if (!form.empty() && (framed || kind != Kind::kMessages)) CAY_ASSERT(there);
  // In a hostile server's frames it may stand across a head.
  if (kind == Kind::kMessages && !framed) answer.end = 0;
  const bool silences = (data[0] & 128) != 0;
  CAY_ASSERT(was_cut(one, answer, kind, data[3], silences) == there);
  return 0;
}
