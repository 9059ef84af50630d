// IgnoreList: the rules of a .dockerignore file, which name what a build context leaves out.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cay::dockerfile {

// A rule: a path with wildcards. "*" and "?" stop at a slash, "**" does not.
class IgnorePattern {
 public:
  // Fails with kInvalidArgument (invalid_dockerignore) for a pattern that Go's path.Match rejects.
  static Result<IgnorePattern> parse(std::string_view clean);

  // Whether the whole path matches.
  bool matches(std::string_view path) const;

  // Returns the text before the first wildcard.
  std::string_view literal() const { return literal_; }

 private:
  enum class How : std::uint8_t { kEqual, kPrefix, kSuffix, kTokens };
  enum class Is : std::uint8_t { kRune, kAny, kStar, kClass, kDeep, kMaybeDirs, kInDirs };
  struct Range {
    char32_t low = 0, high = 0;
  };
  struct Token {
    Is is = Is::kRune;
    char32_t rune = 0;
    bool negated = false;
    std::vector<Range> ranges{};
  };
  Result<void> read_tokens(const std::u32string& runes);
  Result<Token> read_class(const std::u32string& runes, std::size_t& at);
  bool matches_tokens(const std::u32string& path) const;
  void follow(std::vector<char>& states) const;
  static bool in_class(const Token& token, char32_t rune);

  How how_ = How::kEqual;
  std::string text_;  // what kEqual, kPrefix and kSuffix compare
  std::string literal_;
  std::vector<Token> tokens_;
};

// Paths are relative to the context's root, clean, and separated by slashes.
class IgnoreList {
 public:
  // Reads the text of a .dockerignore. Fails with kInvalidArgument (invalid_dockerignore), and the
  // message has the line.
  static Result<IgnoreList> parse(std::string_view text);

  // Whether the context leaves the path out. The last rule that matches it, or a directory above
  // it, decides.
  bool ignores(std::string_view path) const;

  // Whether something below this ignored directory may be kept, by a rule with "!". If not, nobody
  // needs to read the directory.
  bool may_keep_below(std::string_view directory) const;

 private:
  struct Rule {
    bool keeps = false;  // "!"
    IgnorePattern pattern;
  };
  std::vector<Rule> rules_;
};

}  // namespace cay::dockerfile
