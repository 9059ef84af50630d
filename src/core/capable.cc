#include "core/capable.h"

#include <algorithm>
#include <string>

#include "policy/catalogue.h"

namespace cay::core {
namespace {

Result<void> check_that(const Capability& one, const char* reason) {
  if (one.available()) return {};
  return Error{Code::kUnsupported, reason, one.missing, 0};
}

}  // namespace

Result<void> check_boot(const Capabilities& can, const SandboxSpec& spec, bool names_policy) {
  if (spec.record_programs) {
    CAY_CHECK(check_that(can.programs, "programs_unsupported"));
  }
  if (!spec.tmpfs.empty()) {
    CAY_CHECK(check_that(can.tmpfs, "tmpfs_unsupported"));
  }
  if (!spec.read_only_paths.empty() || !spec.hidden_paths.empty()) {
    CAY_CHECK(check_that(can.path_rules, "paths_unsupported"));
  }
  if (const auto profile = profile_from(spec.profile)) {
    CAY_CHECK(check_that(can.profile(*profile), "profile_unsupported"));
  }
  // Without any way out a sandbox comes up, and its proxy rules wait for one.
  const bool has_secrets =
      std::ranges::any_of(spec.proxy, [](const ProxyRule& rule) { return !rule.is_fence(); });
  if (has_secrets && can.network.available()) {
    CAY_CHECK(check_that(can.vault, "vault_unsupported"));
  }
  if (names_policy && spec.policy != "off") {
    CAY_CHECK(check_that(can.network, "network_unsupported"));
    if (spec.policy == policy::kOwnRules) return check_that(can.rules, "network_unsupported");
  }
  return {};
}

Result<void> check_pause(const Entry& entry) {
  return check_that(entry.host->runtime.capabilities().pause, "pause_unsupported");
}

Result<void> check_paths(const Entry& entry) {
  return check_that(entry.host->runtime.capabilities().path_rules, "paths_unsupported");
}

Result<void> check_tunnels(const Entry& entry) {
  return check_that(entry.host->runtime.capabilities().tunnels, "tunnels_unsupported");
}

}  // namespace cay::core
