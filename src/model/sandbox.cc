#include "model/sandbox.h"

namespace cay {

std::string_view to_string(SandboxState state) {
  switch (state) {
    case SandboxState::kProvisioning: return "provisioning";
    case SandboxState::kReady: return "ready";
    case SandboxState::kStopped: return "stopped";
    case SandboxState::kFailed: return "failed";
    case SandboxState::kDeleting: return "deleting";
    case SandboxState::kPaused: return "paused";
  }
  return "failed";
}

std::optional<SandboxState> sandbox_state_from(std::string_view text) {
  for (const auto state :
       {SandboxState::kProvisioning, SandboxState::kReady, SandboxState::kStopped,
        SandboxState::kFailed, SandboxState::kDeleting, SandboxState::kPaused}) {
    if (to_string(state) == text) return state;
  }
  return std::nullopt;
}

std::string_view to_string(NetworkState state) {
  switch (state) {
    case NetworkState::kOff: return "off";
    case NetworkState::kOn: return "on";
    case NetworkState::kUnavailable: return "unavailable";
  }
  return "off";
}

std::optional<NetworkState> network_state_from(std::string_view text) {
  for (const auto state : {NetworkState::kOff, NetworkState::kOn, NetworkState::kUnavailable}) {
    if (to_string(state) == text) return state;
  }
  return std::nullopt;
}

RunConfig layered(const RunConfig& below, const RunConfig& above) {
  RunConfig out = below;
  if (above.user) out.user = above.user;
  if (above.workdir) out.workdir = above.workdir;
  for (const auto& [key, value] : above.env) out.env[key] = value;
  return out;
}

}  // namespace cay
