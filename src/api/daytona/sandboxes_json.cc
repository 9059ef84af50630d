#include "api/daytona/sandboxes_json.h"

#include "api/daytona/create_json.h"
#include "api/daytona/intervals.h"
#include "api/daytona/notes.h"
#include "api/daytona/units.h"
#include "codec/time.h"

namespace cay::api::daytona {
namespace {

namespace json = codec::json;

constexpr const char* kOwnRules = "rules";

json::object texts(const std::map<std::string, std::string>& from) {
  json::object out;
  for (const auto& [key, value] : from) out[codec::text(key)] = codec::text(value);
  return out;
}

std::string_view desired_text(const Sandbox& sandbox) {
  switch (sandbox.state) {
    case SandboxState::kStopped:
      return is_archived(sandbox, system_clock().wall()) ? "archived" : "stopped";
    case SandboxState::kDeleting: return "destroyed";
    case SandboxState::kPaused: return "paused";
    default: return "started";
  }
}

void put_network(json::object& out, const Sandbox& sandbox) {
  out["networkBlockAll"] = sandbox.policy == kNoNetwork;
  if (sandbox.policy != kOwnRules) return;
  if (const auto list = note_of(sandbox, kNetworksNote); !list.empty())
    out["networkAllowList"] = codec::text(list);
  if (const auto list = note_of(sandbox, kDomainsNote); !list.empty())
    out["domainAllowList"] = codec::text(list);
}

void put_intervals(json::object& out, const Sandbox& sandbox) {
  out["autoStopInterval"] = auto_stop_of(sandbox);
  out["autoPauseInterval"] = 0;
  out["autoArchiveInterval"] = auto_archive_of(sandbox);
  out["autoDeleteInterval"] = auto_delete_of(sandbox);
  if (sandbox.lifetime_s != 0)
    out["autoDestroyAt"] = codec::rfc3339(sandbox.created_at + sandbox.lifetime_s * 1000);
}

}  // namespace

std::string_view state_text(const Sandbox& sandbox) {
  switch (sandbox.state) {
    case SandboxState::kProvisioning: return sandbox.stopped_at ? "starting" : "creating";
    case SandboxState::kReady: return "started";
    case SandboxState::kStopped:
      return is_archived(sandbox, system_clock().wall()) ? "archived" : "stopped";
    case SandboxState::kFailed: return "error";
    case SandboxState::kDeleting: return "destroying";
    case SandboxState::kPaused: return "paused";
  }
  return "unknown";
}

std::uint64_t whole_cpus(std::uint32_t millicores) {
  return (millicores + kMilliPerCpu - 1) / kMilliPerCpu;
}

std::uint64_t whole_gib(std::uint64_t bytes) { return (bytes + kGib - 1) / kGib; }

json::object item_json(const Sandbox& sandbox, const std::string& base) {
  json::object out{
      {"id", sandbox.id.get()},
      {"organizationId", codec::text(sandbox.tenant.get())},
      {"name", sandbox.name},
      {"snapshot", codec::text(sandbox.snapshot_name)},
      {"user", codec::text(sandbox.run.user.value_or("root"))},
      {"labels", texts(sandbox.labels)},
      {"public", !note_of(sandbox, kPublicNote).empty()},
      {"kvm", false},
      {"target", "local"},
      {"cpu", whole_cpus(sandbox.limits.cpu_millicores)},
      {"gpu", 0},
      {"memory", whole_gib(sandbox.limits.memory_bytes)},
      {"disk", whole_gib(sandbox.limits.disk_bytes)},
      {"state", state_text(sandbox)},
      {"desiredState", desired_text(sandbox)},
      {"backupState", "None"},
      {"createdAt", codec::rfc3339(sandbox.created_at)},
      {"updatedAt", codec::rfc3339(sandbox.updated_at)},
      {"lastActivityAt", codec::rfc3339(sandbox.last_active_at)},
      {"sandboxClass", "container"},
      {"toolboxProxyUrl", base + "/toolbox"},
  };
  put_network(out, sandbox);
  put_intervals(out, sandbox);
  if (sandbox.state == SandboxState::kFailed) {
    out["errorReason"] = codec::text(sandbox.reason);
    out["recoverable"] = true;  // a start may revive it
  }
  return out;
}

json::object sandbox_json(const Sandbox& sandbox, const std::string& base) {
  json::object out = item_json(sandbox, base);
  out["env"] = texts(sandbox.run.env);
  if (const auto home = sandbox.run.env.find("HOME");
      home != sandbox.run.env.end() && home->second == kHome)
    out["env"].as_object().erase("HOME");  // it was not the client's
  json::array volumes;
  for (const VolumeMount& mount : sandbox.volumes) {
    volumes.emplace_back(json::object{{"volumeId", codec::text(mount.volume)},
                                      {"mountPath", codec::text(mount.path)}});
  }
  out["volumes"] = std::move(volumes);
  if (const auto linked = note_of(sandbox, kLinkedNote); !linked.empty())
    out["linkedSandboxId"] = codec::text(linked);
  if (const auto dockerfile = note_of(sandbox, kDockerfileNote); !dockerfile.empty()) {
    out["buildInfo"] = json::object{{"dockerfileContent", codec::text(dockerfile)},
                                    {"createdAt", codec::rfc3339(sandbox.created_at)},
                                    {"updatedAt", codec::rfc3339(sandbox.created_at)},
                                    {"snapshotRef", codec::text(sandbox.snapshot_name)}};
  }
  return out;
}

}  // namespace cay::api::daytona
