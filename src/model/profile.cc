#include "model/profile.h"

namespace cay {

std::string_view to_string(Profile profile) {
  switch (profile) {
    case Profile::kDefault: return "default";
    case Profile::kStrict: return "strict";
    case Profile::kNested: return "nested";
  }
  return "default";
}

std::optional<Profile> profile_from(std::string_view text) {
  for (const Profile profile : kProfiles) {
    if (to_string(profile) == text) return profile;
  }
  return std::nullopt;
}

}  // namespace cay
