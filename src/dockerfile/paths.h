// Paths of a Dockerfile. They are names inside a sandbox: no function here looks at a file.
#pragma once
#include <string>
#include <string_view>

namespace cay::dockerfile {

// Returns the shortest path of the same meaning, as Go's path.Clean does. It has no ".", no "//"
// and no slash at its end. ".." stands only at the beginning of a relative path. An empty path is
// ".".
std::string clean_path(std::string_view path);

// Returns the clean absolute path that `path` names in the directory `base`.
std::string absolute_path(std::string_view base, std::string_view path);

// Returns the clean path below the root of a build context or a stage, without a slash at its
// beginning. ".." does not leave the root. The root is ".".
std::string path_below_root(std::string_view path);

}  // namespace cay::dockerfile
