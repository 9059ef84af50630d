#include "vault/normaliser.h"

#include <array>
#include <cstddef>

namespace cay::vault {
namespace {

// What most bytes become; 0: one that may be left out, or make others so.
constexpr std::array<char, 256> becomes() {
  std::array<char, 256> out{};
  for (std::size_t c = 0; c < out.size(); ++c) out[c] = static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
  for (const char special : {'\0', '\r', '\n', ',', '\\'}) out[static_cast<unsigned char>(special)] = 0;
  return out;
}
constexpr std::array<char, 256> kBecomes = becomes();

// What writers put a backslash before: of JSON, of strings of programs and shells, of expressions.
bool may_be_escaped(char c) { return c >= ' ' && c < 0x7f && !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z'); }

}  // namespace

void Normaliser::add(std::string_view text, std::string& out) {
  std::size_t to = out.size();
  out.resize(to + text.size());
  char* const begin = out.data();
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (after_ == After::kText) {
      while (at < text.size()) {
        const char plain = kBecomes[static_cast<unsigned char>(text[at])];
        if (plain == 0) break;
        begin[to++] = plain;
        last_ = text[at++];
      }
      if (at == text.size()) break;
    }
    const char c = text[at];
    if (c == '\0') continue;
    const After before = after_;
    const bool in_break = before == After::kBreak || before == After::kBackslashInBreak;
    const bool escaped = before == After::kBackslash || before == After::kBackslashInBreak;
    const bool line_break = c == '\r' || c == '\n';
    const bool written_break = escaped && (c == 'n' || c == 'r' || c == 'N' || c == 'R');
    const bool soft = line_break && (escaped || last_ == '=');
    if ((soft || written_break || (escaped && may_be_escaped(c))) && to > 0) --to;
    last_ = c;
    after_ = After::kText;
    if (line_break || written_break) {
      after_ = After::kBreak;
    } else if (in_break && (c == ' ' || c == '\t')) {
      after_ = After::kBreak;
    } else {
      const char plain = kBecomes[static_cast<unsigned char>(c)];
      begin[to++] = plain == 0 ? c : plain;
      if (c == ',') after_ = After::kBreak;
      if (c == '\\') after_ = in_break ? After::kBackslashInBreak : After::kBackslash;  // a run of them is one: what was escaped twice
    }
  }
  out.resize(to);
}

std::string normalised(std::string_view text, Normaliser::After before) {
  std::string out;
  Normaliser(before).add(text, out);
  return out;
}

}  // namespace cay::vault
