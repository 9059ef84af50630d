// Profile: how closely the commands of a sandbox are held. Chosen when it is made and kept for good; what each one
// means is data: seccomp_profiles.h (calls), confine.cc (capabilities, no_new_privs), launcher/namespace_limits.cc.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace cay::keeper {

enum class Profile : std::uint8_t {
  kDefault,  // an ordinary computer: sudo works, debuggers work
  kStrict,   // no_new_privs, fewer capabilities, fewer calls
  kNested,   // containers inside: namespaces and mounts of its own, within its own
};
inline constexpr Profile kProfiles[] = {Profile::kDefault, Profile::kStrict, Profile::kNested};

// As on the wire and in settings.
constexpr std::string_view name_of(Profile profile) {
  switch (profile) {
    case Profile::kDefault: return "default";
    case Profile::kStrict: return "strict";
    case Profile::kNested: return "nested";
  }
  return "default";
}

constexpr std::optional<Profile> profile_named(std::string_view name) {
  for (const Profile one : kProfiles) {
    if (name_of(one) == name) return one;
  }
  return std::nullopt;
}

}  // namespace cay::keeper
