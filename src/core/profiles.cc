#include "core/profiles.h"

#include <algorithm>

namespace cay::core {
namespace {

std::string list_of(const auto& profiles) {
  std::string out;
  for (const Profile profile : profiles)
    out += (out.empty() ? "" : ", ") + std::string(to_string(profile));
  return out;
}

Result<Profile> named(const std::string& name) {
  if (const auto profile = profile_from(name)) return *profile;
  return Error{
      Code::kInvalidArgument, "invalid_profile",
      "there is no profile '" + name.substr(0, 64) + "': write one of " + list_of(kProfiles), 0};
}

}  // namespace

Result<Profile> Profiles::choose(const std::string& name) const {
  if (name.empty()) return usual;
  CAY_TRY(const Profile profile, named(name));
  CAY_CHECK(check_allowed(profile));
  return profile;
}

Result<void> Profiles::check_allowed(Profile profile) const {
  if (std::ranges::find(allowed, profile) != allowed.end()) return {};
  return Error{Code::kPermissionDenied, "profile_not_allowed",
               "the operator lets no sandbox have the profile '" + std::string(to_string(profile)) +
                   "' (host.profiles): this host has " + list_of(allowed),
               0};
}

Result<Profiles> profiles_of(const std::vector<std::string>& allowed, const std::string& usual) {
  Profiles out;
  out.allowed.clear();
  for (const std::string& name : allowed) {
    CAY_TRY(const Profile profile, named(name));
    out.allowed.push_back(profile);
  }
  CAY_TRY(out.usual, named(usual));
  CAY_CHECK(out.check_allowed(out.usual));
  return out;
}

}  // namespace cay::core
