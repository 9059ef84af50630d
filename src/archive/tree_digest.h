// A digest of a directory tree: names, kinds, modes, owners, links, attributes and content. A
// restore compares it with what it has written. Times are no part of it.
#pragma once
#include <string>

#include "base/result.h"

namespace cay::archive {

// Returns 64 hex digits for the tree below the open directory. Nobody changes the tree meanwhile.
// Sockets count as absent, as TreeWriter leaves them out. It follows no link, and reads attributes
// "user.*" and "security.capability" alone.
Result<std::string> tree_digest(int dir);

}  // namespace cay::archive
