#include "api/daytona/sandboxes_json.h"

#include "codec/time.h"

namespace cay::api::daytona {
namespace {

namespace json = codec::json;

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
constexpr std::uint32_t kMilli = 1000;

}  // namespace

std::string_view state_text(const Sandbox& sandbox) {
  switch (sandbox.state) {
    case SandboxState::kProvisioning: return sandbox.stopped_at ? "starting" : "creating";
    case SandboxState::kReady: return "started";
    case SandboxState::kStopped: return "stopped";
    case SandboxState::kFailed: return "error";
    case SandboxState::kDeleting: return "destroying";
    case SandboxState::kPaused: return "paused";
  }
  return "unknown";
}

std::uint64_t whole_cpus(std::uint32_t millicores) { return (millicores + kMilli - 1) / kMilli; }

std::uint64_t whole_gib(std::uint64_t bytes) { return (bytes + kGib - 1) / kGib; }

json::object sandbox_json(const Sandbox& sandbox, const std::string& base) {
  json::object labels, env;
  for (const auto& [key, value] : sandbox.labels) labels[codec::text(key)] = codec::text(value);
  for (const auto& [key, value] : sandbox.run.env) env[codec::text(key)] = codec::text(value);
  json::object out{
      {"id", sandbox.id.get()},
      {"organizationId", codec::text(sandbox.tenant.get())},
      {"name", sandbox.name},
      {"snapshot", codec::text(sandbox.snapshot_name)},
      {"user", codec::text(sandbox.run.user.value_or("root"))},
      {"env", std::move(env)},
      {"labels", std::move(labels)},
      {"public", false},
      {"networkBlockAll", sandbox.policy == "off"},
      {"target", "local"},
      {"cpu", whole_cpus(sandbox.limits.cpu_millicores)},
      {"gpu", 0},
      {"memory", whole_gib(sandbox.limits.memory_bytes)},
      {"disk", whole_gib(sandbox.limits.disk_bytes)},
      {"state", state_text(sandbox)},
      {"createdAt", codec::rfc3339(sandbox.created_at)},
      {"updatedAt", codec::rfc3339(sandbox.updated_at)},
      {"lastActivityAt", codec::rfc3339(sandbox.last_active_at)},
      {"sandboxClass", "container"},
      {"toolboxProxyUrl", base + "/toolbox"},
  };
  if (sandbox.state == SandboxState::kFailed) {
    out["errorReason"] = codec::text(sandbox.reason);
    out["recoverable"] = true;  // a start may revive it
  }
  return out;
}

}  // namespace cay::api::daytona
