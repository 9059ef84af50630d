// GlobPattern: "**", "*", "?", "[...]" over a path relative to a root. "**" as a whole segment is
// any number of directories. As in a shell, a name that begins with a dot is matched only by a
// segment that begins with a dot. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace cay::keeper {

// One name against one segment.
bool matches_name(std::string_view pattern, std::string_view name);

class GlobPattern {
 public:
  explicit GlobPattern(std::string_view pattern);
  bool matches(const std::vector<std::string>& path) const { return match(path, 0, 0, false); }
  // Whether something below the directory `path` may match.
  bool may_contain(const std::vector<std::string>& path) const { return match(path, 0, 0, true); }

 private:
  bool match(const std::vector<std::string>& path, std::size_t at, std::size_t segment,
             bool as_prefix) const;
  std::vector<std::string> segments_;
};

}  // namespace cay::keeper
