#include "api/daytona/snapshots_json.h"

#include <algorithm>
#include <charconv>

#include "api/daytona/sandboxes_json.h"
#include "api/daytona/units.h"
#include "codec/time.h"

namespace cay::api::daytona {
namespace {

namespace json = codec::json;

constexpr const char* kCpuLabel = "daytona.cpu";        // whole CPUs
constexpr const char* kMemoryLabel = "daytona.memory";  // GiB

std::uint64_t number_in(const SnapshotInfo& snapshot, const char* label) {
  const auto found = snapshot.config.labels.find(label);
  std::uint64_t number = 0;
  if (found == snapshot.config.labels.end()) return number;
  const std::string& text = found->second;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string_view snapshot_state(const SnapshotInfo& snapshot) {
  const bool built = snapshot.origin == kFromBuild;
  if (snapshot.status == kSnapshotReady) return "active";
  if (snapshot.status == kSnapshotDeleting) return "removing";
  if (snapshot.status == kSnapshotFailed) return built ? "build_failed" : "error";
  if (snapshot.origin == kFromSandbox) return "snapshotting";
  return built ? "building" : "pulling";
}

}  // namespace

std::string full_name(const SnapshotInfo& snapshot) {
  const auto& tags = snapshot.tags;
  const bool plain = tags.empty() || std::find(tags.begin(), tags.end(), kLatestTag) != tags.end();
  return plain ? snapshot.name : snapshot.name + ":" + tags.front();
}

void set_name(NewSnapshot& made, const std::string& name) {
  const auto colon = name.rfind(':');
  made.name = name.substr(0, colon);
  if (colon != std::string::npos) made.tag = name.substr(colon + 1);
}

Limits resources_of(const SnapshotInfo& snapshot) {
  Limits out;
  out.cpu_millicores = static_cast<std::uint32_t>(number_in(snapshot, kCpuLabel)) * kMilliPerCpu;
  out.memory_bytes = number_in(snapshot, kMemoryLabel) * kGib;
  out.disk_bytes = snapshot.disk_bytes;
  return out;
}

void keep_resources(NewSnapshot& made, const Limits& limits) {
  if (limits.cpu_millicores != 0)
    made.labels[kCpuLabel] = std::to_string(whole_cpus(limits.cpu_millicores));
  if (limits.memory_bytes != 0)
    made.labels[kMemoryLabel] = std::to_string(whole_gib(limits.memory_bytes));
  made.disk_bytes = limits.disk_bytes;
}

json::object snapshot_json(const SnapshotInfo& snapshot, const Limits& usual) {
  const Limits kept = resources_of(snapshot);
  const auto or_usual = [](auto given, auto other) { return given == 0 ? other : given; };
  const bool shared = snapshot.tenant.get().empty();
  json::object out{
      {"id", snapshot.id.get()},
      {"general", shared},
      {"name", codec::text(full_name(snapshot))},
      {"state", snapshot_state(snapshot)},
      {"size", static_cast<double>(snapshot.used_bytes) / static_cast<double>(kGib)},
      {"entrypoint", nullptr},
      {"cpu", whole_cpus(or_usual(kept.cpu_millicores, usual.cpu_millicores))},
      {"gpu", 0},
      {"mem", whole_gib(or_usual(kept.memory_bytes, usual.memory_bytes))},
      {"disk", whole_gib(or_usual(kept.disk_bytes, usual.disk_bytes))},
      {"errorReason", nullptr},
      {"createdAt", codec::rfc3339(snapshot.created_at)},
      {"updatedAt", codec::rfc3339(std::max(snapshot.updated_at, snapshot.created_at))},
      {"lastUsedAt", nullptr},
      {"sourceSandboxId", nullptr},
      {"ref", codec::text(snapshot.digest.empty() ? snapshot.id.get() : snapshot.digest)},
      {"regionIds", json::array{"local"}},
      {"sandboxClass", "container"},
  };
  if (!shared) out["organizationId"] = codec::text(snapshot.tenant.get());
  if (!snapshot.image_name.empty()) out["imageName"] = codec::text(snapshot.image_name);
  if (!snapshot.config.entrypoint.empty()) {
    json::array words;
    for (const auto& word : snapshot.config.entrypoint) words.emplace_back(codec::text(word));
    out["entrypoint"] = std::move(words);
  }
  if (snapshot.status == kSnapshotFailed) out["errorReason"] = codec::text(snapshot.status_message);
  if (!snapshot.source_sandbox.get().empty())
    out["sourceSandboxId"] = snapshot.source_sandbox.get();
  return out;
}

}  // namespace cay::api::daytona
