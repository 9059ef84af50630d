#include "api/daytona/create_json.h"

#include <algorithm>
#include <set>

#include "api/common/answer.h"
#include "api/daytona/intervals.h"
#include "api/daytona/notes.h"
#include "api/daytona/sandboxes_json.h"
#include "api/daytona/snapshots_json.h"
#include "api/daytona/units.h"
#include "base/ip_address.h"
#include "base/sha256.h"

namespace cay::api::daytona {
namespace {

namespace json = codec::json;

constexpr std::size_t kMostLabels = 64;
constexpr std::size_t kMostVariables = 1024;
constexpr std::size_t kMostContexts = 64;
constexpr std::size_t kMostDockerfile = 256 * 1024;
constexpr std::size_t kMostKeptDockerfile = 16 * 1024;
constexpr std::size_t kMostListed = 10;
constexpr std::size_t kMostClaim = 200;
constexpr std::int64_t kMostNumber = 1 << 20;

Error beyond(const char* what, const char* unit, std::int64_t asked, std::uint64_t most) {
  return {Code::kExhausted, "quota_" + std::string(what),
          std::string(what) + " request " + std::to_string(asked) +
              " exceeds maximum allowed per sandbox (" + std::to_string(most) + ")" + unit,
          0};
}

// Settings of the managed service that this host cannot give. One that is kept and not carried out
// would be a lie.
void refuse_unknown_settings(codec::Fields& fields) {
  bool flag = false;
  if (fields.read("kvm", flag) && flag)
    fields.complain("kvm", "this host gives no /dev/kvm to a sandbox: leave it out");
  flag = false;
  if (fields.read("spot", flag) && flag)
    fields.complain("spot", "there are no GPUs, and so no spot sandboxes: leave it out");
  std::int64_t gpus = 0;
  if (fields.read("gpu", gpus, 0, kMostNumber) && gpus > 0)
    fields.complain("gpu", "this host gives no GPU to a sandbox: leave it out");
  std::string text;
  if (fields.read("outboundProxyUrl", text) && !text.empty()) {
    fields.complain("outboundProxyUrl",
                    "what goes out goes by the gate of this host: use domainAllowList");
  }
  text.clear();
  if (fields.read("otelEndpointOverride", text) && !text.empty())
    fields.complain("otelEndpointOverride", "the operator sets where traces go: leave it out");
}

void read_intervals(codec::Fields& fields, SandboxSpec& spec) {
  std::int64_t minutes = kUsualAutoStop;
  const bool stops = fields.read("autoStopInterval", minutes, 0, kMostMinutes);
  spec.idle_ttl_s = idle_ttl_of(minutes);
  std::int64_t pause = 0;
  if (fields.read("autoPauseInterval", pause, 0, kMostMinutes) && pause != 0) {
    fields.complain("autoPauseInterval",
                    stops && minutes != 0
                        ? "excludes autoStopInterval"
                        : "Cay pauses by request alone: use autoStopInterval, or pause()");
  }
  minutes = kUsualAutoArchive;
  if (fields.read("autoArchiveInterval", minutes, 0, kLongestAutoArchive))
    spec.notes[kAutoArchiveNote] = std::to_string(minutes);
  minutes = -1;
  fields.read("autoDeleteInterval", minutes, -1, kMostMinutes);
  spec.delete_after_stop_s = delete_after_stop_of(minutes);
  minutes = 0;
  fields.read("ttlMinutes", minutes, 0, kMostMinutes);
  spec.lifetime_s = minutes * 60;
}

void read_network(codec::Fields& fields, const DaytonaConfig& config, SandboxSpec& spec) {
  NetworkSettings settings;
  fields.read("networkBlockAll", settings.block_all);
  if (fields.read("networkAllowList", settings.networks) && !settings.networks.empty())
    spec.notes[kNetworksNote] = settings.networks;
  if (fields.read("domainAllowList", settings.domains) && !settings.domains.empty())
    spec.notes[kDomainsNote] = settings.domains;
  auto policy = policy_of(settings, config.policy);
  if (policy) {
    spec.policy = *std::move(policy);
  } else {
    fields.complain("", policy.error().message);
  }
}

void read_volumes(codec::Fields& fields, SandboxSpec& spec) {
  const auto* list = fields.array("volumes");
  if (list == nullptr) return;
  for (const auto& item : *list) {
    if (!item.is_object()) {
      fields.complain("volumes", "has objects alone");
      return;
    }
    codec::Fields inner(item.get_object(), fields.path("volumes"));
    VolumeMount mount;
    std::string within;
    if (!inner.read("volumeId", mount.volume)) inner.complain("volumeId", "is needed");
    if (!inner.read("mountPath", mount.path)) inner.complain("mountPath", "is needed");
    if (inner.read("subpath", within) && !within.empty())
      inner.complain("subpath", "Cay mounts a whole volume: leave it out");
    mount.shared = true;  // these clients' volumes are written by any number at once
    fields.adopt(inner);
    spec.volumes.push_back(std::move(mount));
  }
}

void read_build(codec::Fields& fields, NewSandbox& made) {
  const auto* build = fields.object("buildInfo");
  if (build == nullptr) return;
  codec::Fields inner(*build, fields.path("buildInfo"));
  inner.read("dockerfileContent", made.dockerfile, kMostDockerfile);
  inner.read("contextHashes", made.contexts, kMostContexts);
  if (made.dockerfile.empty()) inner.complain("dockerfileContent", "is needed");
  fields.adopt(inner);
  if (made.dockerfile.size() <= kMostKeptDockerfile)
    made.spec.notes[kDockerfileNote] = made.dockerfile;
}

std::vector<std::string> parts_of(const std::string& list) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  while (begin <= list.size()) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    std::string part = list.substr(begin, end - begin);
    const auto first = part.find_first_not_of(' ');
    const auto last = part.find_last_not_of(' ');
    if (first != std::string::npos) out.push_back(part.substr(first, last - first + 1));
    begin = end + 1;
  }
  return out;
}

bool is_domain(const std::string& text) {
  const std::string_view name =
      text.starts_with("*.") ? std::string_view(text).substr(2) : std::string_view(text);
  return !name.empty() && name.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVW"
                              "XYZ0123456789-._") == std::string_view::npos;
}

}  // namespace

Result<std::string> policy_of(const NetworkSettings& settings, const std::string& usual) {
  if (settings.block_all) return std::string(kNoNetwork);
  const auto networks = parts_of(settings.networks);
  const auto domains = parts_of(settings.domains);
  if (networks.empty() && domains.empty()) return usual;
  if (networks.size() > kMostListed || domains.size() > kMostListed)
    return invalid("invalid_policy", "Network allow list cannot contain more than 10 entries");
  std::string rules = "default deny";
  for (const std::string& one : networks) {
    if (one.find('/') == std::string::npos || !Network::parse(one))
      return invalid("invalid_policy", "Invalid CIDR in the network allow list: " + one);
    rules += "\n" + one;
  }
  for (const std::string& one : domains) {
    if (!is_domain(one))
      return invalid("invalid_policy", "Invalid domain in the domain allow list: " + one);
    rules += "\n" + one;
  }
  return rules;
}

Result<Limits> read_resources(codec::Fields& fields, const Limits& maximum) {
  Limits out;
  std::int64_t number = 0;
  if (fields.read("cpu", number, 1, kMostNumber)) {
    const std::uint32_t most = maximum.cpu_millicores / kMilliPerCpu;
    if (number > most) return beyond("CPU", "", number, most);
    out.cpu_millicores = static_cast<std::uint32_t>(number) * kMilliPerCpu;
  }
  if (fields.read("memory", number, 1, kMostNumber)) {
    if (static_cast<std::uint64_t>(number) > maximum.memory_bytes / kGib)
      return beyond("Memory", " GiB", number, maximum.memory_bytes / kGib);
    out.memory_bytes = static_cast<std::uint64_t>(number) * kGib;
  }
  if (fields.read("disk", number, 1, kMostNumber)) {
    if (static_cast<std::uint64_t>(number) > maximum.disk_bytes / kGib)
      return beyond("Disk", " GiB", number, maximum.disk_bytes / kGib);
    out.disk_bytes = static_cast<std::uint64_t>(number) * kGib;
  }
  return out;
}

std::string claim_of(const std::map<std::string, std::string>& labels) {
  const auto thread = labels.find(kThreadLabel);
  if (thread == labels.end() || thread->second.empty()) return "";
  std::string claim = "daytona:thread_id=" + thread->second;
  const bool printable = std::all_of(claim.begin(), claim.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  });
  if (printable && claim.size() <= kMostClaim) return claim;
  return "daytona:thread_id_sha256=" + sha256_hex(thread->second);
}

void read_secrets(codec::Fields& fields, std::string_view name, std::vector<ProxyRule>& out) {
  const auto* list = fields.array(name);
  if (list == nullptr) return;
  std::set<std::string> seen;
  for (const auto& item : *list) {
    const auto* pairs = item.if_object();
    if (pairs == nullptr) {
      fields.complain(name, "has objects alone: {\"VARIABLE\": \"name of a secret\"}");
      return;
    }
    for (const auto& [variable, secret] : *pairs) {
      const std::string key(variable);
      if (!secret.is_string() || !is_secret_name(key) || !seen.insert(key).second) {
        fields.complain(name, "'" + key + "' is no variable for a secret, or is there twice");
        continue;
      }
      ProxyRule rule;
      rule.name = key;
      rule.secret = std::string(secret.get_string());
      rule.way = ProxyWay::kPlaceholder;
      rule.env = {{key, "${TOKEN}"}};
      out.push_back(std::move(rule));
    }
  }
}

void settle(SandboxSpec& spec, const SnapshotInfo& snapshot) {
  const RunConfig& own = snapshot.config.run;
  if (!spec.run.user && own.user.value_or("root") == "root") {
    if (!own.env.contains("HOME")) spec.run.env.try_emplace("HOME", kHome);
    if (own.workdir.value_or("/") == "/") spec.run.workdir = kHome;
  }
  const Limits kept = resources_of(snapshot);
  if (spec.limits.cpu_millicores == 0) spec.limits.cpu_millicores = kept.cpu_millicores;
  if (spec.limits.memory_bytes == 0) spec.limits.memory_bytes = kept.memory_bytes;
}

Result<NewSandbox> read_new_sandbox(codec::Fields& fields, const DaytonaConfig& config) {
  NewSandbox made;
  SandboxSpec& spec = made.spec;
  fields.read("name", spec.name);
  fields.read("snapshot", spec.snapshot);
  fields.read("labels", spec.labels, kMostLabels);
  fields.read("env", spec.run.env, kMostVariables);
  std::string text;
  // The vendor's own user is root here, whose home is the vendor's.
  if (fields.read("user", text) && !text.empty() && text != "daytona") spec.run.user = text;
  bool is_public = false;
  if (fields.read("public", is_public) && is_public) spec.notes[kPublicNote] = "1";
  if (fields.read("linkedSandbox", text) && !text.empty())
    spec.notes[kLinkedNote] = text;  // of one host, all are side by side
  std::int64_t wait = 0;
  constexpr std::int64_t kLongestWait = 24 * 60;
  if (fields.read("queueTimeout", wait, 1, kLongestWait))
    made.options.timeout = std::chrono::minutes(wait);
  refuse_unknown_settings(fields);
  read_intervals(fields, spec);
  read_network(fields, config, spec);
  read_volumes(fields, spec);
  read_secrets(fields, "secrets", spec.proxy);
  read_build(fields, made);
  CAY_TRY(spec.limits, read_resources(fields, config.maximum));
  if (!spec.snapshot.empty() && spec.limits != Limits{})
    return invalid("invalid_limits", "Cannot specify Sandbox resources when using a snapshot");
  if (!spec.snapshot.empty() && !made.dockerfile.empty())
    return invalid("invalid_snapshot", "Cannot specify both a snapshot and a build");
  spec.claim = claim_of(spec.labels);
  return made;
}

}  // namespace cay::api::daytona
