// The mounts that make file rules bind commands too, not only the file tools. Pure.
#pragma once
#include <vector>

#include "agent/tools/permissions.h"
#include "base/result.h"
#include "providers/path_rules.h"

namespace cay::agent {

// A rule that denies writing makes a path read-only. One that denies reading and writing, or two
// rules together, hides it. A path ends with a name or with "/**", and both cover all below.
//
// Fails as FilePermissions::create(). Fails kUnsupported (permissions_need_mounts), with the path,
// for a rule that is no mount. Such a rule has another wildcard, names the root, denies reading
// alone, needs an approval, or has an exception before it.
Result<providers::PathRules> mounts_of(const std::vector<FilesystemPermission>& rules);

}  // namespace cay::agent
