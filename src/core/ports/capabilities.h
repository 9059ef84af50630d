// Capabilities lists the features of a runtime, so that the core refuses a request before anything
// is made.
//
// A runtime that does not know yet reports a capability as available. Then the boot decides, or the
// call of the live sandbox: it fails with kUnsupported.
#pragma once
#include <array>
#include <cstddef>
#include <string>

#include "base/profile.h"

namespace cay::core {

// Available unless a runtime names what is missing.
struct Capability {
  std::string missing{};  // a sentence for the caller's error, with the remedy if there is one

  bool available() const { return missing.empty(); }
};

struct Capabilities {
  // A boot needs these. Each names its member of BootSpec and the reason of the error.
  Capability programs{};    // record_programs (programs_unsupported)
  Capability tmpfs{};       // tmpfs (tmpfs_unsupported)
  Capability path_rules{};  // read_only_paths, hidden_paths (paths_unsupported)
  Capability network{};     // a policy other than "off" (network_unsupported)
  Capability rules{};       // the policy "rules", and Runtime::set_policy() (network_unsupported)
  Capability vault{};       // proxy rules with secrets (vault_unsupported)
  std::array<Capability, std::size(kProfiles)> profiles{};  // profile (profile_unsupported)

  Capability layers{};  // sealing, forks, images, volumes (no_layers)

  // A live sandbox has these.
  Capability pause{};    // pause() and resume() (pause_unsupported)
  Capability tunnels{};  // open_tunnel(), and with it services and links (tunnels_unsupported)

  // A boot gives this where it can, and does not fail without it.
  Capability disk_limit{};  // Limits::disk_bytes is enforced

  const Capability& profile(Profile profile) const {
    return profiles[static_cast<std::size_t>(profile)];
  }
  Capability& profile(Profile profile) { return profiles[static_cast<std::size_t>(profile)]; }
};

}  // namespace cay::core
