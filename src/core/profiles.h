// Profiles: which containment profiles this host's operator lets sandboxes have, and which one is had by who asks for none.
#pragma once
#include <string>
#include <vector>

#include "base/profile.h"
#include "base/result.h"

namespace cay::core {

struct Profiles {
  Profile usual = Profile::kDefault;
  // Not nested: namespaces and mounts of its own let what runs inside reach much more of the kernel.
  std::vector<Profile> allowed = {Profile::kStrict, Profile::kDefault};

  // What a client's word means; empty: the usual one. invalid_profile, or as check_allowed().
  Result<Profile> choose(const std::string& name) const;
  // kPermissionDenied (profile_not_allowed). Asked at every start, too: what the operator allows no more is started no more.
  Result<void> check_allowed(Profile profile) const;
};

// The settings host.profiles and defaults.profile. invalid_profile.
Result<Profiles> profiles_of(const std::vector<std::string>& allowed, const std::string& usual);

}  // namespace cay::core
