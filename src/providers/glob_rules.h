// GlobRule: the shared pattern rules of deepagents (glob, and the file filter of grep). Pure.
//
// A pattern without "/" matches the base name, at any depth. A pattern with "/" matches the path
// below the root, where "**" is any number of directories. So "/*.py" matches the top level alone.
//
// A name that begins with a dot is matched only by a segment that begins with a dot. "**" enters no
// such directory. Other elements are "?", "[abc]", "[!abc]", "[^abc]", and "{a,b}", which nests.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cay::providers {

class GlobRule {
 public:
  static constexpr std::size_t kMostExpansions = 1000;

  // Fails kInvalidArgument: invalid_pattern (empty, or ".." in it), pattern_too_broad (more
  // expansions of braces than kMostExpansions).
  static Result<GlobRule> parse(std::string_view pattern);

  // `path` is relative to the root, without a leading slash: "src/app/main.py".
  bool matches(std::string_view path) const;

  // Returns patterns of base names for find's -name. Each file that matches has a base name that
  // one of them matches. Empty: any name may match.
  std::vector<std::string> base_names() const;

 private:
  struct Form {
    bool any_depth = false;  // matches the base name alone
    std::vector<std::string> segments;
  };
  std::vector<Form> forms_;
};

// One name against one segment. '*' and '?' match no leading dot.
bool matches_segment(std::string_view pattern, std::string_view name);

// Expands "{a,b}". Fails kInvalidArgument (pattern_too_broad).
Result<std::vector<std::string>> expand_braces(std::string_view pattern, std::size_t most);

}  // namespace cay::providers
