#include "dockerfile/words.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "dockerfile/runes.h"
#include "dockerfile/text.h"

namespace cay::dockerfile {
namespace {

bool is_space(char c) { return is_blank(c) || c == '\n'; }

// Reads JSON from the beginning of a text. Each function returns false, or nothing, if the text is
// something else.
class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : rest_(text) {}

  void skip_blanks() { rest_ = trimmed_left(); }
  bool at_end() const { return rest_.empty(); }
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  std::optional<std::string> string();
  bool number();

 private:
  std::string_view trimmed_left() const {
    const std::size_t at = rest_.find_first_not_of(" \t\r\n");
    return at == std::string_view::npos ? std::string_view() : rest_.substr(at);
  }
  bool escaped(std::string& out);
  std::optional<char32_t> four_digits();
  bool digits();

  std::string_view rest_;
};

std::optional<char32_t> JsonReader::four_digits() {
  if (rest_.size() < 4) return std::nullopt;
  char32_t out = 0;
  for (const char c : rest_.substr(0, 4)) {
    if (hex_digit(c) < 0) return std::nullopt;
    out = out << 4U | static_cast<char32_t>(hex_digit(c));
  }
  rest_.remove_prefix(4);
  return out;
}

bool JsonReader::escaped(std::string& out) {
  constexpr std::string_view kFrom = "\"\\/bfnrt";
  constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
  if (rest_.empty()) return false;
  const char c = rest_.front();
  rest_.remove_prefix(1);
  if (const std::size_t at = kFrom.find(c); at != std::string_view::npos) {
    out += kTo[at];
    return true;
  }
  if (c != 'u') return false;
  auto rune = four_digits();
  if (!rune || *rune == 0) return false;  // no argument of a program can have a NUL
  if (*rune >= 0xd800 && *rune < 0xe000) {
    const auto before = rest_;
    const bool first = *rune < 0xdc00;
    const auto second = first && take("\\u") ? four_digits() : std::nullopt;
    if (second && *second >= 0xdc00 && *second < 0xe000) {
      rune = 0x10000 + ((*rune - 0xd800) << 10U) + (*second - 0xdc00);
    } else {
      rest_ = before;
      rune = 0xfffd;
    }
  }
  append_rune(out, *rune);
  return true;
}

std::optional<std::string> JsonReader::string() {
  if (!take("\"")) return std::nullopt;
  std::string out;
  while (!rest_.empty()) {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    if (c == '"') return out;
    if (static_cast<unsigned char>(c) < ' ') return std::nullopt;
    if (c != '\\') {
      out += c;
    } else if (!escaped(out)) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

bool JsonReader::digits() {
  const std::size_t before = rest_.size();
  while (!rest_.empty() && is_digit(rest_.front())) rest_.remove_prefix(1);
  return rest_.size() < before;
}

bool JsonReader::number() {
  take("-");
  if (!digits()) return false;
  if (take(".") && !digits()) return false;
  if (take("e") || take("E")) {
    if (!take("+")) take("-");
    return digits();
  }
  return true;
}

}  // namespace

QuotedWords quoted_words(std::string_view text, char escape) {
  QuotedWords out;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quote == 0 && is_space(c)) {
      if (in_word) out.words.push_back(std::move(word));
      word.clear();
      in_word = false;
      continue;
    }
    if (c == escape && quote != '\'') {
      if (at + 1 == text.size()) break;  // an escape at the end means nothing
      in_word = true;
      word += c;
      word += text[++at];
      continue;
    }
    in_word = true;
    word += c;
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (c == quote) {
      quote = 0;
    }
  }
  if (in_word) out.words.push_back(std::move(word));
  out.balanced = quote == 0;
  return out;
}

std::vector<std::string> plain_words(std::string_view text) {
  std::vector<std::string> out;
  std::string word;
  for (const char c : text) {
    if (!is_space(c)) {
      word += c;
    } else if (!word.empty()) {
      out.push_back(std::move(word));
      word.clear();
    }
  }
  if (!word.empty()) out.push_back(std::move(word));
  return out;
}

JsonArray json_array(std::string_view text) {
  JsonReader reader(text);
  reader.skip_blanks();
  if (!reader.take("[")) return {};
  JsonArray out{JsonArray::Is::kStrings};
  reader.skip_blanks();
  for (bool more = !reader.take("]"); more;) {
    reader.skip_blanks();
    if (auto found = reader.string()) {
      out.strings.push_back(*std::move(found));
    } else if (reader.take("true") || reader.take("false") || reader.take("null") ||
               reader.number()) {
      out.is = JsonArray::Is::kOther;
    } else {
      return {};
    }
    reader.skip_blanks();
    more = reader.take(",");
    if (!more && !reader.take("]")) return {};
  }
  reader.skip_blanks();
  if (!reader.at_end()) return {};
  if (out.is == JsonArray::Is::kOther) out.strings.clear();
  return out;
}

LeadingFlags leading_flags(std::string_view text) {
  LeadingFlags out;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
    if (!text.starts_with("--")) break;
    std::string word;
    char quote = 0;
    std::size_t at = 0;
    for (; at < text.size() && (quote != 0 || !is_space(text[at])); ++at) {
      const char c = text[at];
      if (c == '\\') {
        if (at + 1 < text.size()) word += text[++at];
      } else if (quote == 0 && (c == '\'' || c == '"')) {
        quote = c;
      } else if (c == quote && quote != 0) {
        quote = 0;
      } else {
        word += c;
      }
    }
    text.remove_prefix(at);
    if (word == "--") {
      text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
      break;
    }
    out.flags.push_back(std::move(word));
  }
  out.rest = text;
  return out;
}

}  // namespace cay::dockerfile
