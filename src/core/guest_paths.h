// Paths inside a sandbox that a request names: places of mounts, and read-only and hidden paths.
#pragma once
#include <string>

#include "base/profile.h"
#include "base/result.h"
#include "model/sandbox.h"

namespace cay::core {

inline constexpr std::size_t kMaxGuestPath = 4095;  // PATH_MAX less its NUL

// An absolute path as realpath(3) would write it, and none that the sandbox's own file systems
// take.
bool is_guest_place(const std::string& path);

// Whether `path` is `outer` or lies below it.
bool is_within(const std::string& path, const std::string& outer);

// The rules of a sandbox, and what else they have to go with.
struct PathRulesOf {
  const PathList& read_only;
  const PathList& hidden;
  const TmpfsMounts& tmpfs;
  const VolumeMounts& volumes;
  Profile profile;
};
// Fails kInvalidArgument (invalid_paths).
Result<void> check_path_rules(const PathRulesOf& rules);

}  // namespace cay::core
