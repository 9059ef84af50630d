#include "dockerfile/ignore.h"

#include <algorithm>

#include "base/ascii.h"
#include "dockerfile/paths.h"
#include "dockerfile/runes.h"
#include "dockerfile/text.h"

namespace cay::dockerfile {
namespace {

constexpr std::size_t kMostIgnoreBytes = std::size_t{1} << 20U;
constexpr std::size_t kLongestRule = 4096;
constexpr std::string_view kWildcards = "*?[]\\";

Error bad_pattern(std::string_view pattern, std::string_view why) {
  return Error{Code::kInvalidArgument, "invalid_dockerignore",
               "'" + shown(pattern) + "' is no pattern: " + std::string(why), 0};
}

}  // namespace

Result<IgnorePattern> IgnorePattern::parse(std::string_view clean) {
  IgnorePattern out;
  const std::size_t first = clean.find_first_of(kWildcards);
  out.literal_ = clean.substr(0, first);
  // A "**" at one end, and no other wildcard, compares the other end as it is.
  if (first == std::string_view::npos) {
    out.text_ = clean;
    return out;
  }
  if (clean.starts_with("**") && clean.find_first_of(kWildcards, 2) == std::string_view::npos) {
    out.how_ = How::kSuffix;
    out.text_ = clean.substr(2);
    return out;
  }
  if (clean.substr(first) == "**") {
    out.how_ = How::kPrefix;
    out.text_ = out.literal_;
    return out;
  }
  out.how_ = How::kTokens;
  if (auto done = out.read_tokens(runes_of(clean)); !done) {
    return bad_pattern(clean, done.error().message);
  }
  return out;
}

Result<void> IgnorePattern::read_tokens(const std::u32string& runes) {
  for (std::size_t at = 0; at < runes.size(); ++at) {
    const char32_t rune = runes[at];
    const bool twice = rune == U'*' && at + 1 < runes.size() && runes[at + 1] == U'*';
    if (twice) {
      ++at;
      if (at + 1 < runes.size() && runes[at + 1] == U'/') ++at;
      if (at + 1 == runes.size()) {
        tokens_.push_back({Is::kDeep});
      } else {
        tokens_.push_back({Is::kMaybeDirs});
        tokens_.push_back({Is::kInDirs});
      }
    } else if (rune == U'*') {
      tokens_.push_back({Is::kStar});
    } else if (rune == U'?') {
      tokens_.push_back({Is::kAny});
    } else if (rune == U'[') {
      CAY_TRY(Token token, read_class(runes, at));
      tokens_.push_back(std::move(token));
    } else if (rune == U'\\') {
      if (++at == runes.size()) return bad_pattern("", "a \\ ends it");
      tokens_.push_back({Is::kRune, runes[at]});
    } else {
      tokens_.push_back({Is::kRune, rune});
    }
  }
  return {};
}

// Reads [a-z] or [^a-z], and leaves `at` at its "]".
Result<IgnorePattern::Token> IgnorePattern::read_class(const std::u32string& runes,
                                                       std::size_t& at) {
  const auto bad = [] { return bad_pattern("", "its [ ] is wrong"); };
  Token out{Is::kClass};
  ++at;
  if (at < runes.size() && runes[at] == U'^') {
    out.negated = true;
    ++at;
  }
  const auto one = [&]() -> std::optional<char32_t> {
    if (at >= runes.size() || runes[at] == U'-' || runes[at] == U']') return std::nullopt;
    if (runes[at] == U'\\') ++at;
    if (at >= runes.size()) return std::nullopt;
    return runes[at++];
  };
  while (at < runes.size()) {
    if (runes[at] == U']' && !out.ranges.empty()) return out;
    const auto low = one();
    if (!low) return bad();
    auto high = low;
    if (at < runes.size() && runes[at] == U'-') {
      ++at;
      high = one();
      if (!high) return bad();
    }
    out.ranges.push_back({*low, *high});
  }
  return bad();
}

bool IgnorePattern::in_class(const Token& token, char32_t rune) {
  return token.negated != std::ranges::any_of(token.ranges, [rune](const Range& range) {
           return range.low <= rune && rune <= range.high;
         });
}

// Adds the states that need no character.
void IgnorePattern::follow(std::vector<char>& states) const {
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (!states[i]) continue;
    const Is is = tokens_[i].is;
    if (is == Is::kStar || is == Is::kDeep) states[i + 1] = 1;
    if (is == Is::kMaybeDirs) states[i + 1] = states[i + 2] = 1;
  }
}

bool IgnorePattern::matches_tokens(const std::u32string& path) const {
  std::vector<char> states(tokens_.size() + 1), next(tokens_.size() + 1);
  states[0] = 1;
  follow(states);
  for (const char32_t rune : path) {
    std::ranges::fill(next, 0);
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      if (!states[i]) continue;
      const Token& token = tokens_[i];
      const bool slash = rune == U'/';
      switch (token.is) {
        case Is::kRune:
          if (rune == token.rune) next[i + 1] = 1;
          break;
        case Is::kAny:
          if (!slash) next[i + 1] = 1;
          break;
        case Is::kStar:
          if (!slash) next[i] = 1;
          break;
        case Is::kClass:
          if (in_class(token, rune)) next[i + 1] = 1;
          break;
        case Is::kDeep: next[i] = 1; break;
        case Is::kMaybeDirs: break;  // it only leads to the two that follow
        case Is::kInDirs:
          next[i] = 1;
          if (slash) next[i + 1] = 1;
          break;
      }
    }
    follow(next);
    states.swap(next);
  }
  return states.back() != 0;
}

bool IgnorePattern::matches(std::string_view path) const {
  switch (how_) {
    case How::kEqual: return path == text_;
    case How::kPrefix: return path.starts_with(text_);
    case How::kSuffix:
      return path.ends_with(text_) || (text_.starts_with('/') && path == text_.substr(1));
    case How::kTokens: return matches_tokens(runes_of(path));
  }
  return false;
}

Result<IgnoreList> IgnoreList::parse(std::string_view text) {
  const auto bad = [](int number, const Error& why) {
    return Error{why.code, why.reason, "line " + std::to_string(number) + ": " + why.message, 0};
  };
  if (text.size() > kMostIgnoreBytes) {
    return bad(1, bad_pattern("", ".dockerignore may have 1 MiB"));
  }
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  IgnoreList out;
  for (int number = 1; !text.empty(); ++number) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with('#')) continue;
    std::string_view word = trimmed(line, kBlanks);
    if (word.empty()) continue;
    if (word.size() > kLongestRule) return bad(number, bad_pattern(word, "it is too long"));
    Rule rule;
    rule.keeps = word.starts_with('!');
    if (rule.keeps) word = trimmed(word.substr(1), kBlanks);
    if (word.empty()) return bad(number, bad_pattern("!", "a path has to follow"));
    std::string clean = clean_path(word);
    if (clean.size() > 1 && clean.front() == '/') clean.erase(0, 1);
    auto pattern = IgnorePattern::parse(clean);
    if (!pattern) return bad(number, pattern.error());
    rule.pattern = *std::move(pattern);
    out.rules_.push_back(std::move(rule));
  }
  return out;
}

bool IgnoreList::ignores(std::string_view path) const {
  if (path == ".") return false;
  bool out = false;
  for (const auto& rule : rules_) {
    // A rule that would change nothing needs no comparison.
    if (rule.keeps != out) continue;
    bool found = rule.pattern.matches(path);
    for (std::size_t end = path.find('/'); !found && end != std::string_view::npos;
         end = path.find('/', end + 1)) {
      found = rule.pattern.matches(path.substr(0, end));
    }
    if (found) out = !rule.keeps;
  }
  return out;
}

bool IgnoreList::may_keep_below(std::string_view directory) const {
  const std::string below = std::string(directory) + "/";
  return std::ranges::any_of(rules_, [&below](const Rule& rule) {
    const std::string_view literal = rule.pattern.literal();
    return rule.keeps && (literal.starts_with(below) || below.starts_with(literal));
  });
}

}  // namespace cay::dockerfile
