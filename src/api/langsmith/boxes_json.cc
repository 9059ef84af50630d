#include "api/langsmith/boxes_json.h"

#include <utility>

#include "api/langsmith/access_control.h"
#include "codec/time.h"
#include "core/validate.h"

namespace cay::api::langsmith {
namespace {

namespace json = codec::json;

constexpr std::int64_t kMinute = 60;
constexpr std::int64_t kTenYears = 10LL * 365 * 86'400;
constexpr std::int64_t kMaxInt = std::int64_t{1} << 53;
constexpr std::int64_t kMilli = 1000;
constexpr std::uint64_t kMemoryPerCpu = 4ull << 30;

bool says_nothing(const json::value& value) {
  return value.is_null() || (value.is_array() && value.get_array().empty()) ||
         (value.is_object() && value.get_object().empty());
}

// Settings of the managed service that are not built. They are refused, for one that is stored and
// not enforced would be a lie. Empty ones have no meaning.
void refuse_unbuilt(codec::Fields& fields) {
  for (const char* name : {"proxy_config", "mount_config", "access_delegation"}) {
    const auto* given = fields.object(name);
    if (given == nullptr) continue;
    const bool is_proxy = std::string_view(name) == "proxy_config";
    codec::Fields inner(*given, fields.path(name));
    for (const auto& [key, value] : *given) {
      // access_control.h; and what the managed service itself takes and ignores.
      if (is_proxy && (key == "access_control" || key == "no_proxy")) continue;
      if (says_nothing(value)) continue;
      const std::string member(key);
      inner.complain(member,
                     std::string(name) + "." + member + " is not built yet in Cay: leave it out");
      break;
    }
    fields.adopt(inner);
  }
  bool flag = false;
  for (const char* name : {"preserve_memory_on_stop", "restore_memory"}) {
    if (fields.read(name, flag) && flag)
      fields.complain(name, "memory is not kept over a stop: leave it out");
  }
  flag = true;
  if (fields.read("persistent", flag) && !flag)
    fields.complain("persistent", "the disk is always kept over a stop");
}

void read_ttl(codec::Fields& fields, std::string_view name, std::optional<std::int64_t>& out) {
  std::int64_t seconds = 0;
  if (!fields.read(name, seconds, 0, kTenYears)) return;
  if (seconds % kMinute != 0) {
    fields.complain(name, "must be a multiple of 60 (0: never)");
    return;
  }
  out = seconds;
}

// The clients search the message for words that name the quota. "sandbox" beside "limit" or "count"
// means the number of sandboxes, whatever the rest is.
Error quota(const char* resource, const char* unit, std::int64_t asked, std::uint64_t most) {
  return {Code::kExhausted, std::string("quota_") + resource,
          std::string(resource) + ": " + std::to_string(asked) + " " + unit +
              " were requested, this host gives at most " + std::to_string(most) + ": ask for less",
          0};
}

struct Sizes {
  std::optional<std::uint32_t> millicores;
  std::optional<std::uint64_t> memory;
  std::optional<std::uint64_t> disk;
};

Result<Sizes> read_sizes(codec::Fields& fields, const Limits& maximum) {
  Sizes sizes;
  std::int64_t number = 0;
  std::int64_t millicores = 0;
  if (fields.read("vcpus", number, 1, kMaxInt / kMilli)) millicores = number * kMilli;
  if (fields.read("cpu_millicores", number, 50, kMaxInt)) millicores = number;
  if (millicores > maximum.cpu_millicores)
    return quota("cpu", "millicores", millicores, maximum.cpu_millicores);
  if (millicores > 0) sizes.millicores = static_cast<std::uint32_t>(millicores);
  if (fields.read("mem_bytes", number, core::kLeastLimits.memory_bytes, kMaxInt)) {
    if (static_cast<std::uint64_t>(number) > maximum.memory_bytes)
      return quota("memory", "bytes", number, maximum.memory_bytes);
    sizes.memory = static_cast<std::uint64_t>(number);
  }
  if (fields.read("fs_capacity_bytes", number, core::kLeastLimits.disk_bytes, kMaxInt)) {
    if (static_cast<std::uint64_t>(number) > maximum.disk_bytes)
      return quota("storage", "bytes", number, maximum.disk_bytes);
    sizes.disk = static_cast<std::uint64_t>(number);
  }
  return sizes;
}

std::string without_latest(std::string name) {
  constexpr std::string_view kLatest = ":latest";
  if (name.size() > kLatest.size() &&
      name.compare(name.size() - kLatest.size(), kLatest.size(), kLatest) == 0) {
    name.resize(name.size() - kLatest.size());
  }
  return name;
}

json::value time_or_null(const std::optional<UnixMillis>& time) {
  if (!time) return nullptr;
  return json::value(codec::rfc3339(*time));
}

}  // namespace

json::object run_json(const RunConfig& run) {
  json::object out;
  if (run.user) out["user"] = codec::text(*run.user);
  if (run.workdir) out["work_dir"] = codec::text(*run.workdir);
  json::object env;
  for (const auto& [key, value] : run.env) env[codec::text(key)] = codec::text(value);
  if (!env.empty()) out["env_vars"] = std::move(env);
  return out;
}

std::string base_url(const http::RequestHead& head) {
  std::string base = head.scheme + "://" + head.host;
  for (const auto& segment : head.segments) {
    base += "/" + segment;
    if (segment == "sandboxes") break;
  }
  return base;
}

std::string_view status_text(const Sandbox& sandbox) {
  return to_string(sandbox.state == SandboxState::kPaused ? SandboxState::kStopped : sandbox.state);
}

json::value status_message(const Sandbox& sandbox) {
  if (sandbox.state == SandboxState::kPaused)
    return "it is paused, with its memory: start resumes it";
  // One that was stopped is as it should be: the next request wakes it.
  if (sandbox.reason.empty() || sandbox.state == SandboxState::kStopped) return nullptr;
  return json::value(codec::text(sandbox.reason));
}

json::object box_json(const Sandbox& sandbox, const std::string& base) {
  json::object labels;
  for (const auto& [key, value] : sandbox.labels) labels[codec::text(key)] = codec::text(value);
  json::object out{
      {"id", sandbox.id.get()},
      {"name", sandbox.name},
      {"dataplane_url", base + "/dp/" + sandbox.id.get()},
      {"status", status_text(sandbox)},
      {"status_message", status_message(sandbox)},
      {"created_at", codec::rfc3339(sandbox.created_at)},
      {"updated_at", codec::rfc3339(sandbox.updated_at)},
      {"created_by", sandbox.created_by},
      {"idle_ttl_seconds", sandbox.idle_ttl_s},
      {"delete_after_stop_seconds", sandbox.delete_after_stop_s},
      {"stopped_at", time_or_null(sandbox.stopped_at)},
      {"snapshot_id", sandbox.snapshot_id.get()},
      {"vcpus", (sandbox.limits.cpu_millicores + kMilli - 1) / kMilli},
      {"cpu_millicores", sandbox.limits.cpu_millicores},
      {"mem_bytes", sandbox.limits.memory_bytes},
      {"fs_capacity_bytes", sandbox.limits.disk_bytes},
      {"labels", std::move(labels)},
      {"preserve_memory_on_stop", false},
  };
  if (auto access = access_control_json(sandbox))
    out["proxy_config"] = json::object{{"access_control", *std::move(access)}};
  if (auto run = run_json(sandbox.run); !run.empty()) out["run_config"] = std::move(run);
  return out;
}

void read_run_config(codec::Fields& fields, std::string_view name, RunConfig& run) {
  const auto* object = fields.object(name);
  if (object == nullptr) return;
  codec::Fields inner(*object, fields.path(name));
  std::string text;
  if (inner.read("user", text)) run.user = text;
  if (inner.read("work_dir", text)) {
    if (text.empty() || text.front() != '/') inner.complain("work_dir", "must be an absolute path");
    run.workdir = text;
  }
  std::map<std::string, std::string> env;
  if (inner.read("env_vars", env, 1024)) {
    for (auto& [key, value] : env) run.env[key] = std::move(value);
  }
  fields.adopt(inner);
}

Result<CreateBox> read_create_box(codec::Fields& fields, const Limits& maximum) {
  if (fields.has("mounts"))
    return invalid("bad_mounts", "'mounts' at the top level is not taken: use mount_config");
  CreateBox box;
  if (fields.read("name", box.spec.name) && box.spec.name.empty())
    fields.complain("name", "must not be empty");
  fields.read("labels", box.spec.labels, 64);
  std::map<std::string, std::string> env;
  read_run_config(fields, "run_config", box.spec.run);
  if (fields.read("env_vars", env, 1024)) {
    for (auto& [key, value] : env) box.spec.run.env[key] = std::move(value);
  }
  read_ttl(fields, "idle_ttl_seconds", box.spec.idle_ttl_s);
  read_ttl(fields, "delete_after_stop_seconds", box.spec.delete_after_stop_s);
  // Clients up to 0.8.2 (JS 0.6.2): the longest life.
  std::int64_t life = 0;
  if (fields.read("ttl_seconds", life, 0, kTenYears)) box.spec.lifetime_s = life;
  // To these clients an active command is use (protocol reference, section 3), also one whose
  // caller has gone.
  box.spec.commands_keep_awake = true;
  refuse_unbuilt(fields);
  box.spec.policy = read_access_control(fields);
  fields.read("wait_for_ready", box.options.wait_for_ready);
  std::int64_t seconds = 30;
  fields.read("timeout", seconds, 1, 3600);
  box.options.timeout = std::chrono::seconds(seconds);

  for (const char* name : {"snapshot", "snapshot_id", "snapshot_name"}) {
    std::string source;
    if (!fields.read(name, source) || source.empty()) continue;
    source = without_latest(std::move(source));
    if (!box.spec.snapshot.empty() && box.spec.snapshot != source) {
      return invalid(
          "bad_snapshot",
          "two boot sources that disagree: give one of snapshot, snapshot_id, snapshot_name");
    }
    box.spec.snapshot = source;
  }
  CAY_TRY(const Sizes sizes, read_sizes(fields, maximum));
  box.spec.limits.cpu_millicores = sizes.millicores.value_or(0);
  box.spec.limits.disk_bytes = sizes.disk.value_or(0);
  box.spec.limits.memory_bytes = sizes.memory.value_or(0);
  if (!sizes.memory) {
    // The vendor's default: 4 GiB for each vCPU, as far as this host goes.
    const std::uint64_t cpus = (sizes.millicores.value_or(kMilli) + kMilli - 1) / kMilli;
    box.spec.limits.memory_bytes = std::min(cpus * kMemoryPerCpu, maximum.memory_bytes);
  }
  return box;
}

Result<SandboxPatch> read_patch_box(codec::Fields& fields, const Limits& maximum) {
  SandboxPatch patch;
  std::string name;
  if (fields.read("name", name)) patch.name = name;
  read_ttl(fields, "idle_ttl_seconds", patch.idle_ttl_s);
  read_ttl(fields, "delete_after_stop_seconds", patch.delete_after_stop_s);
  if (fields.has("run_config")) {
    RunConfig run;
    read_run_config(fields, "run_config", run);
    patch.run = std::move(run);
  }
  refuse_unbuilt(fields);
  if (std::string policy = read_access_control(fields); !policy.empty())
    patch.policy = std::move(policy);
  CAY_TRY(const Sizes sizes, read_sizes(fields, maximum));
  patch.cpu_millicores = sizes.millicores;
  patch.memory_bytes = sizes.memory;
  patch.disk_bytes = sizes.disk;
  return patch;
}

}  // namespace cay::api::langsmith
