// Profile: how closely the commands of a sandbox are held. Chosen at its creation and kept for good. What each one means:
// keeper/profile.h, docs/hardening.md.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace cay {

enum class Profile : std::uint8_t {
  kDefault = 1,  // an ordinary computer: sudo and debuggers work
  kStrict = 2,   // no_new_privs, fewer capabilities, fewer system calls
  kNested = 3,   // containers inside; more of the kernel can be reached
};
inline constexpr Profile kProfiles[] = {Profile::kStrict, Profile::kDefault, Profile::kNested};

std::string_view to_string(Profile profile);
std::optional<Profile> profile_from(std::string_view text);

}  // namespace cay
