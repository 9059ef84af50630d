// Checks of all that arrives over the launcher's socket. The launcher trusts nobody: every member
// is checked here before anything is made, and ids are never path parts unless they are UUIDs.
#pragma once
#include <string_view>

#include "base/profile.h"
#include "base/result.h"
#include "wire/messages.h"

namespace cay::launcher {

bool is_uuid(std::string_view text);      // lower case, with dashes
bool is_hostname(std::string_view text);  // 1-63 of [a-z0-9-], not starting or ending with '-'
bool is_instance(std::string_view text);  // 1-64 of [a-z0-9-]
bool is_cgroup_parent(
    std::string_view text);  // empty, or an absolute path without empty parts, "." and ".."

Result<void> check(const wire::CreateSandbox& request);
Result<void> check(const wire::PrepareDefault& request);

// Returns the profile of a request that was checked.
Profile profile_of(const wire::CreateSandbox& request);

}  // namespace cay::launcher
