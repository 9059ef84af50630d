// The core's own errors, one maker each, so that a reason is spelled once. docs/errors.md lists
// them.
#pragma once
#include <string>

#include "base/error.h"

namespace cay::core {

inline Error invalid(std::string reason, std::string message) {
  return {Code::kInvalidArgument, std::move(reason), std::move(message), 0};
}
inline Error sandbox_not_found(const std::string& ref) {
  return {Code::kNotFound, "sandbox_not_found",
          "no sandbox '" + ref + "': list them to see the names", 0};
}
// For a key that is for one sandbox and may not list others. It does not show whether another
// sandbox exists.
inline Error not_the_only_one(const std::string& ref) {
  return {Code::kNotFound, "sandbox_not_found",
          "no sandbox '" + ref +
              "' for this key, which is for one alone: that is another, or is gone (`cay key ls` "
              "tells whoever made the key which)",
          0};
}
inline Error snapshot_not_found(const std::string& name) {
  return {Code::kNotFound, "snapshot_not_found",
          "no snapshot '" + name + "': list the snapshots to see the names", 0};
}
inline Error name_in_use(const std::string& name) {
  return {Code::kAlreadyExists, "name_in_use",
          "a sandbox named '" + name + "' exists: choose another name or delete it", 0};
}
// `what` names the sandbox or snapshot.
inline Error runtime_not_configured(const std::string& what, const std::string& runtime) {
  return {Code::kUnavailable, "runtime_not_configured",
          what + " belongs to the runtime '" + runtime +
              "', and this daemon was started without it: configure it again, and restart the "
              "daemon",
          0};
}
// `why` includes the remedy, where there is one.
inline Error not_ready(const std::string& name, const std::string& why) {
  return {Code::kNotReady, "sandbox_not_ready", "sandbox '" + name + "' is not ready: " + why, 0};
}
inline std::string start_it(const std::string& name) { return "start it (cay start " + name + ")"; }
// A request does not resume what somebody paused.
inline Error sandbox_paused(const std::string& name) {
  return {Code::kNotReady, "sandbox_paused",
          "sandbox '" + name + "' is paused: resume it (cay resume " + name + ")", 0};
}
inline constexpr std::string_view kShuttingDown = "shutting_down";
inline Error shutting_down() {
  return {Code::kUnavailable, std::string(kShuttingDown),
          "the daemon is ending: try again when it is back", 0};
}
inline Error host_draining() {
  return {Code::kUnavailable, "draining",
          "this host is being drained: nothing new begins on it; try again later", 0};
}

}  // namespace cay::core
