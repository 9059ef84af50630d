#include "dockerfile/expand.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "dockerfile/runes.h"
#include "dockerfile/text.h"

namespace cay::dockerfile {
namespace {

constexpr int kDeepest = 32;                   // ${A:-${B:-…}}
constexpr std::size_t kLongestPattern = 1024;  // of ${A#pattern}
constexpr std::size_t kMostWork = 8;           // times the longest result

Error not_expanded(std::string what) {
  return Error{Code::kInvalidArgument, "invalid_dockerfile", std::move(what), 0};
}

struct Dialect {
  char escape = '\\';
  bool quotes = true;  // quotes are special
  std::size_t longest = kLongestWord;
};

// Collects words that are split at blanks.
class WordList {
 public:
  void add_text(std::string_view text) {
    for (const char c : text) {
      if (is_blank(c) || c == '\n') {
        end();
      } else {
        add_raw({&c, 1});
      }
    }
  }
  void add_raw(std::string_view text) { word_ += text; }
  std::vector<std::string> take() {
    end();
    return std::move(words_);
  }

 private:
  void end() {
    if (!word_.empty()) words_.push_back(std::move(word_));
    word_.clear();
  }
  std::vector<std::string> words_;
  std::string word_;
};

// A pattern of ${A#pattern}: "*" is any text, "?" any character.
struct Wildcard {
  enum class Is : std::uint8_t { kRune, kAny, kStar };
  Is is = Is::kRune;
  char32_t rune = 0;
};

Result<std::vector<Wildcard>> wildcards_of(std::string_view pattern) {
  if (pattern.size() > kLongestPattern) return not_expanded("a pattern in ${} is too long");
  const auto runes = runes_of(pattern);
  std::vector<Wildcard> out;
  for (std::size_t at = 0; at < runes.size(); ++at) {
    const char32_t rune = runes[at];
    if (rune == U'*') {
      out.push_back({Wildcard::Is::kStar});
    } else if (rune == U'?') {
      out.push_back({Wildcard::Is::kAny});
    } else if (rune == U'\\' && at + 1 < runes.size()) {
      out.push_back({Wildcard::Is::kRune, runes[++at]});
    } else {
      out.push_back({Wildcard::Is::kRune, rune});
    }
  }
  return out;
}

// Returns how many characters at the beginning of `text` match: the fewest or the most.
std::optional<std::size_t> matched_prefix(const std::vector<Wildcard>& pattern,
                                          const std::u32string& text, bool longest) {
  std::vector<char> active(pattern.size() + 1), next(pattern.size() + 1);
  const auto skip_stars = [&pattern](std::vector<char>& states) {
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (states[i] && pattern[i].is == Wildcard::Is::kStar) states[i + 1] = 1;
    }
  };
  active[0] = 1;
  skip_stars(active);
  std::optional<std::size_t> out;
  for (std::size_t at = 0;; ++at) {
    if (active.back()) {
      out = at;
      if (!longest) return out;
    }
    if (at == text.size() || std::ranges::count(active, 1) == 0) return out;
    std::ranges::fill(next, 0);
    for (std::size_t i = 0; i < pattern.size(); ++i) {
      if (!active[i]) continue;
      if (pattern[i].is == Wildcard::Is::kStar) {
        next[i] = 1;
      } else if (pattern[i].is == Wildcard::Is::kAny || pattern[i].rune == text[at]) {
        next[i + 1] = 1;
      }
    }
    skip_stars(next);
    active.swap(next);
  }
}

// Returns the UTF-8 of code points that runes_of() returned.
std::string text_of_runes(std::u32string_view runes) {
  std::string out;
  for (const char32_t rune : runes) append_rune(out, rune);
  return out;
}

// ${value#pattern}, ##, % and %%.
Result<std::string> without_match(const std::string& value, std::string_view pattern, bool suffix) {
  const char twice = suffix ? '%' : '#';
  const bool longest = pattern.starts_with(twice);
  if (longest) pattern.remove_prefix(1);
  CAY_TRY(auto wildcards, wildcards_of(pattern));
  std::u32string runes = runes_of(value);
  if (suffix) {
    std::ranges::reverse(wildcards);
    std::ranges::reverse(runes);
  }
  const auto count = matched_prefix(wildcards, runes, longest);
  if (!count) return value;
  runes.erase(0, *count);
  if (suffix) std::ranges::reverse(runes);
  return text_of_runes(runes);
}

bool is_special(char c) { return std::string_view("@*#?-$!0").find(c) != std::string_view::npos; }

class Expansion {
 public:
  Expansion(std::string_view text, const Lookup& lookup, Dialect dialect)
      : text_(text), lookup_(lookup), dialect_(dialect) {}

  Result<std::string> whole(WordList* words) { return until(std::nullopt, false, words); }

 private:
  // Expands up to `stop`, and takes it; without one, up to the end.
  Result<std::string> until(std::optional<char> stop, bool raw_escapes, WordList* words);
  void escaped(std::string& out, bool raw_escapes, WordList* words);
  Result<std::string> single_quoted();
  Result<std::string> double_quoted(bool raw_escapes);
  Result<std::string> dollar();
  Result<std::string> braced();
  Result<std::string> modified(const std::string& name, bool or_empty, char modifier);
  std::string name();
  Result<std::string> value_of(const std::string& name);
  Result<void> within_limit(const std::string& out) {
    if (out.size() <= dialect_.longest) return {};
    return not_expanded("a value is longer than " + std::to_string(dialect_.longest) + " bytes");
  }

  bool at_end() const { return at_ == text_.size(); }
  char peek() const { return text_[at_]; }

  std::string_view text_;
  const Lookup& lookup_;
  const Dialect dialect_;
  std::size_t at_ = 0;
  int depth_ = 0;
  std::size_t work_ = 0;  // bytes of values that were copied
};

Result<std::string> Expansion::until(std::optional<char> stop, bool raw_escapes, WordList* words) {
  std::string out;
  while (!at_end()) {
    CAY_CHECK(within_limit(out));
    const char c = peek();
    if (stop && c == *stop) {
      ++at_;
      return out;
    }
    if (c == '$') {
      CAY_TRY(const std::string value, dollar());
      out += value;
      if (words != nullptr) words->add_text(value);
    } else if (dialect_.quotes && (c == '\'' || c == '"')) {
      CAY_TRY(const std::string value, c == '"' ? double_quoted(raw_escapes) : single_quoted());
      out += value;
      if (words != nullptr) words->add_raw(value);
    } else if (c == dialect_.escape) {
      escaped(out, raw_escapes, words);
    } else {
      out += c;
      if (words != nullptr) words->add_text({&c, 1});
      ++at_;
    }
  }
  CAY_CHECK(within_limit(out));
  if (stop) return not_expanded("${ has no }");
  return out;
}

void Expansion::escaped(std::string& out, bool raw_escapes, WordList* words) {
  if (raw_escapes) out += peek();
  ++at_;
  if (at_end()) return;
  out += peek();
  if (words != nullptr) words->add_raw({&text_[at_], 1});
  ++at_;
}

Result<std::string> Expansion::single_quoted() {
  const std::size_t end = text_.find('\'', at_ + 1);
  if (end == std::string_view::npos) return not_expanded("a single quote is left open");
  std::string out(text_.substr(at_ + 1, end - at_ - 1));
  at_ = end + 1;
  return out;
}

Result<std::string> Expansion::double_quoted(bool raw_escapes) {
  std::string out;
  for (++at_; !at_end();) {
    CAY_CHECK(within_limit(out));
    const char c = peek();
    if (c == '"') {
      ++at_;
      return out;
    }
    if (c == '$') {
      CAY_TRY(const std::string value, dollar());
      out += value;
      continue;
    }
    ++at_;
    if (c != dialect_.escape) {
      out += c;
      continue;
    }
    if (raw_escapes) out += c;
    if (at_end()) break;
    // An escape before any other character is text.
    if (peek() == '"' || peek() == '$' || peek() == dialect_.escape) {
      out += peek();
      ++at_;
    } else if (!raw_escapes) {
      out += c;
    }
  }
  return not_expanded("a double quote is left open");
}

std::string Expansion::name() {
  const std::size_t begin = at_;
  if (at_end()) return {};
  if (is_digit(peek())) {
    while (!at_end() && is_digit(peek())) ++at_;
  } else if (is_special(peek())) {
    ++at_;
  } else {
    while (!at_end() && (is_letter(peek()) || is_digit(peek()) || peek() == '_')) ++at_;
  }
  return std::string(text_.substr(begin, at_ - begin));
}

Result<std::string> Expansion::value_of(const std::string& name) {
  const std::string* const found = lookup_(name);
  if (found == nullptr) return std::string();
  work_ += found->size();
  if (work_ > kMostWork * dialect_.longest) return not_expanded("the values are too long");
  return *found;
}

Result<std::string> Expansion::dollar() {
  ++at_;
  if (!at_end() && peek() == '{') {
    if (++depth_ > kDeepest) return not_expanded("too many ${ stand in each other");
    auto out = braced();
    --depth_;
    return out;
  }
  const std::string found = name();
  if (found.empty()) return std::string("$");
  return value_of(found);
}

Result<std::string> Expansion::braced() {
  ++at_;
  if (at_end()) return not_expanded("${ has no }");
  const std::string found = name();
  if (at_end()) return not_expanded("${ has no }");
  if (found.empty()) return not_expanded("${ has no name after it");
  char modifier = peek();
  ++at_;
  if (modifier == '}') return value_of(found);
  const bool or_empty = modifier == ':';
  if (or_empty) {
    if (at_end()) return not_expanded("${ has no }");
    modifier = peek();
    ++at_;
  }
  return modified(found, or_empty, modifier);
}

Result<std::string> Expansion::modified(const std::string& name, bool or_empty, char modifier) {
  const bool trims = modifier == '#' || modifier == '%';
  if (!trims && modifier != '-' && modifier != '+' && modifier != '?') {
    return not_expanded("${" + shown(name) + " is followed by " + shown({&modifier, 1}) +
                        ", which is not supported");
  }
  CAY_TRY(const std::string word, until('}', trims, nullptr));
  const std::string* const set = lookup_(name);
  const bool there = set != nullptr && !(or_empty && set->empty());
  if (modifier == '+') return there ? word : std::string();
  if (!there && modifier == '-') return word;
  if (!there && modifier == '?') {
    const std::string_view why = set == nullptr ? "is not set" : "is empty";
    return not_expanded(shown(name) + ": " + (word.empty() ? std::string(why) : shown(word)));
  }
  CAY_TRY(const std::string value, value_of(name));
  if (trims) return without_match(value, word, modifier == '%');
  return value;
}

}  // namespace

Result<std::string> expand_word(std::string_view word, const Lookup& lookup, char escape) {
  return Expansion(word, lookup, {.escape = escape}).whole(nullptr);
}

Result<std::vector<std::string>> expand_words(std::string_view text, const Lookup& lookup,
                                              char escape) {
  WordList words;
  CAY_CHECK(Expansion(text, lookup, {.escape = escape}).whole(&words));
  return words.take();
}

Result<std::string> expand_content(std::string_view content, const Lookup& lookup) {
  return Expansion(content, lookup, {.quotes = false, .longest = kLongestContent}).whole(nullptr);
}

std::optional<std::string> unquoted(std::string_view word, char escape) {
  std::string out;
  char quote = 0;
  for (std::size_t at = 0; at < word.size(); ++at) {
    const char c = word[at];
    if (quote != '\'' && c == escape) {
      if (at + 1 < word.size()) out += word[++at];
    } else if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
    } else if (quote != 0 && c == quote) {
      quote = 0;
    } else {
      out += c;
    }
  }
  if (quote != 0) return std::nullopt;
  return out;
}

}  // namespace cay::dockerfile
