// Profiles: the containment profiles that this host's operator allows, and the default one.
#pragma once
#include <string>
#include <vector>

#include "base/profile.h"
#include "base/result.h"

namespace cay::core {

struct Profiles {
  Profile usual = Profile::kDefault;
  // Not nested: namespaces and mounts of its own let what runs inside reach much more of the
  // kernel.
  std::vector<Profile> allowed = {Profile::kStrict, Profile::kDefault};

  // Returns the profile of a client's word. Empty: the default. Fails invalid_profile, or as
  // check_allowed().
  Result<Profile> choose(const std::string& name) const;
  // Fails kPermissionDenied (profile_not_allowed). It is called at every start, too: a sandbox
  // whose profile is no longer allowed does not start.
  Result<void> check_allowed(Profile profile) const;
};

// The settings host.profiles and defaults.profile. invalid_profile.
Result<Profiles> profiles_of(const std::vector<std::string>& allowed, const std::string& usual);

}  // namespace cay::core
