#include "dockerfile/lines.h"

#include <set>

#include "base/ascii.h"
#include "dockerfile/text.h"

namespace cay::dockerfile {
namespace {

std::string_view without_ending(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

bool is_comment(std::string_view line) { return trimmed(line, kBlanks).starts_with('#'); }

struct Directive {
  std::string key;
  std::string_view value;
};

// Reads `# key = value`.
std::optional<Directive> directive_of(std::string_view line) {
  line = trimmed(line, kBlanks);
  const std::size_t equals = line.find('=');
  if (!line.starts_with('#') || equals == std::string_view::npos) return std::nullopt;
  const std::string_view key = trimmed(line.substr(1, equals - 1), kBlanks);
  const std::string_view value = trimmed(line.substr(equals + 1), kBlanks);
  if (key.empty() || value.empty() || !is_letter(key.front())) return std::nullopt;
  for (const char c : key) {
    if (!is_letter(c) && !is_digit(c)) return std::nullopt;
  }
  return Directive{lowered(key), value};
}

}  // namespace

Result<LineReader> LineReader::open(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  LineReader out(text);
  CAY_CHECK(out.read_directives());
  return out;
}

Result<void> LineReader::read_directives() {
  std::set<std::string> seen;
  while (true) {
    const auto rest = rest_;
    const auto line = physical();
    const auto found = line ? directive_of(without_ending(*line)) : std::nullopt;
    if (!found || (found->key != "syntax" && found->key != "escape" && found->key != "check")) {
      if (line) --number_;
      rest_ = rest;
      return {};
    }
    if (!seen.insert(found->key).second) {
      return wrong_at(number_, "the directive " + found->key + " is there twice");
    }
    if (found->key != "escape") continue;
    if (found->value != "\\" && found->value != "`") {
      return wrong_at(number_, "the escape character can be \\ or `, not " + shown(found->value));
    }
    escape_ = found->value.front();
  }
}

std::optional<std::string_view> LineReader::physical() {
  if (rest_.empty()) return std::nullopt;
  const std::size_t end = rest_.find('\n');
  const std::string_view line = rest_.substr(0, end == std::string_view::npos ? end : end + 1);
  rest_.remove_prefix(line.size());
  ++number_;
  return line;
}

// Removes the escape at the end of a line that the next one continues. A doubled escape is text.
bool LineReader::continues(std::string_view& line) const {
  const std::size_t last = line.find_last_not_of(" \t");
  if (last == std::string_view::npos || line[last] != escape_) return false;
  if (last > 0 && line[last - 1] == escape_) return false;
  line = line.substr(0, last);
  return true;
}

std::optional<LogicalLine> LineReader::next() {
  LogicalLine out;
  bool open = false;  // the line so far is continued
  while (const auto found = physical()) {
    std::string_view line = without_ending(*found);
    if (is_comment(line) || trimmed(line, kBlanks).empty()) continue;
    if (out.number == 0) {
      out.number = number_;
      line.remove_prefix(line.find_first_not_of(kBlanks));
    }
    open = continues(line);
    out.text += line;
    if (open) continue;
    out.text = trimmed(out.text, kBlanks);
    if (!out.text.empty()) return out;
    out = {};
  }
  out.text = trimmed(out.text, kBlanks);
  if (out.text.empty()) return std::nullopt;
  return out;
}

std::optional<std::string> LineReader::heredoc(std::string_view name, bool after_tabs) {
  std::string out;
  while (const auto line = physical()) {
    std::string_view word = without_ending(*line);
    if (after_tabs) word.remove_prefix(std::min(word.find_first_not_of('\t'), word.size()));
    if (word == name) return out;
    out += *line;
  }
  return std::nullopt;
}

}  // namespace cay::dockerfile
