// Profile selects how strictly a sandbox's commands are confined. A sandbox keeps the profile that
// it was made with. The profiles' contents are data. keeper/seccomp_profiles.h has the system
// calls, keeper/confine.cc has capabilities and no_new_privs, and launcher/namespace_limits.cc has
// the limits of namespaces. docs/hardening.md describes them.
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace cay {

enum class Profile : std::uint8_t {
  kStrict,   // no_new_privs, fewer capabilities, fewer system calls
  kDefault,  // an ordinary computer: sudo and debuggers work
  kNested,   // containers inside: namespaces and mounts of its own, within its own; more of the
             // kernel can be reached
};
inline constexpr Profile kProfiles[] = {Profile::kStrict, Profile::kDefault, Profile::kNested};

// On the wire, in settings, in the API and in the database.
inline constexpr std::string_view kProfileNames[] = {"strict", "default", "nested"};
static_assert(std::size(kProfiles) == std::size(kProfileNames));

constexpr std::string_view to_string(Profile profile) {
  return kProfileNames[static_cast<std::size_t>(profile)];
}

constexpr std::optional<Profile> profile_from(std::string_view name) {
  for (const Profile one : kProfiles) {
    if (to_string(one) == name) return one;
  }
  return std::nullopt;
}

}  // namespace cay
