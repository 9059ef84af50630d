#include "core/validate.h"

#include <algorithm>

#include "core/errors.h"
#include "core/guest_paths.h"

namespace cay::core {
namespace {

constexpr std::size_t kMaxLabels = 64;
constexpr std::size_t kMaxLabelKey = 128;
constexpr std::size_t kMaxLabelValue = 1024;
constexpr std::size_t kMaxLabelBytes =
    16 * 1024;  // all of them: each event of the sandbox has a copy
constexpr std::size_t kMaxClaim = 200;
constexpr std::size_t kMaxUser = 256;
constexpr std::size_t kMaxPath = 4095;                 // PATH_MAX less its NUL
constexpr std::int64_t kMaxTtl = 10LL * 365 * 86'400;  // seconds
constexpr std::int64_t kMaxTime = kMaxTtl * 1000;      // milliseconds
constexpr int kMaxSignal = 64;

bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }
// As JSON such a byte is six.
bool has_control(const std::string& text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

}  // namespace

Result<void> check_name(const std::string& name) {
  if (!is_valid_name(name)) {
    return invalid("invalid_name",
                   "a sandbox's name has 1 to 63 letters, digits, '.', '_' or '-', and begins "
                   "and ends with a letter or digit");
  }
  // A reference is an id or a name: one must not pass for the other.
  if (is_uuid(name))
    return invalid("invalid_name", "a name must not look like an id (a UUID): choose another");
  return {};
}

Result<void> check_claim(const std::string& claim) {
  if (claim.empty() || claim.size() > kMaxClaim || has_control(claim))
    return invalid("invalid_claim", "a claim has 1 to 200 bytes, without control characters");
  return {};
}

Result<void> check_labels(const std::map<std::string, std::string>& labels) {
  if (labels.size() > kMaxLabels) {
    return invalid("invalid_labels",
                   std::to_string(labels.size()) + " labels: at most 64 are kept");
  }
  std::size_t total = 0;
  for (const auto& [key, value] : labels) {
    if (key.empty() || key.size() > kMaxLabelKey || value.size() > kMaxLabelValue ||
        has_control(key) || has_control(value)) {
      return invalid("invalid_labels",
                     "a label's key has 1 to 128 bytes and its value at most 1024, without control "
                     "characters: '" +
                         key.substr(0, kMaxLabelKey) + "'");
    }
    total += key.size() + value.size();
  }
  if (total > kMaxLabelBytes) {
    return invalid("invalid_labels", "the labels have " + std::to_string(total) +
                                         " bytes together, keys and values: at most " +
                                         std::to_string(kMaxLabelBytes) + " are kept");
  }
  return {};
}

namespace {

Error too_long(const std::string& what, std::size_t bytes, std::size_t most) {
  return invalid("arguments_too_long",
                 what + " " + std::to_string(bytes) + " bytes long; Linux takes at most " +
                     std::to_string(most) +
                     ": write it to a file in the sandbox (upload it) and name the file");
}

Result<void> check_env(const std::map<std::string, std::string>& env) {
  std::size_t total = 0;
  for (const auto& [key, value] : env) {
    if (key.empty() || key.find('=') != std::string::npos || has_nul(key) || has_nul(value)) {
      return invalid(
          "invalid_env",
          "an environment variable's name is not empty and has no '=' or NUL, its value no NUL");
    }
    const std::size_t size = key.size() + 1 + value.size();
    if (size > kMaxArgumentBytes)
      return too_long("environment variable " + key.substr(0, kMaxUser) + " is", size,
                      kMaxArgumentBytes);
    total += size + 1;
  }
  if (total > kMaxCommandBytes) return too_long("the environment is", total, kMaxCommandBytes);
  return {};
}

}  // namespace

Result<void> check(const RunConfig& run) {
  if (run.user && (run.user->empty() || run.user->size() > kMaxUser || has_nul(*run.user))) {
    return invalid("invalid_user", "a user is a name, uid, name:group or uid:gid");
  }
  if (run.workdir && (run.workdir->empty() || run.workdir->front() != '/' ||
                      run.workdir->size() > kMaxPath || has_nul(*run.workdir))) {
    return invalid("invalid_workdir",
                   "a working directory is an absolute path of at most 4095 bytes");
  }
  return check_env(run.env);
}

namespace {

Result<void> check_ttl(const char* what, std::int64_t seconds) {
  if (seconds < 0 || seconds > kMaxTtl) {
    return invalid("invalid_ttl", std::string(what) + " is 0 (never) to ten years, in seconds");
  }
  return {};
}

template <class T>
Result<void> check_limit(const char* what, T value, T least, T most) {
  if (value < least || value > most) {
    return invalid("invalid_limits", std::string(what) + " is " + std::to_string(value) +
                                         ": this host takes " + std::to_string(least) + " to " +
                                         std::to_string(most));
  }
  return {};
}

}  // namespace

Result<policy::Choice> chosen_policy(const std::string& words, const Defaults& defaults) {
  CAY_TRY(policy::Choice out, defaults.policies->choose(words));
  CAY_CHECK(defaults.policies->check_allowed(out));
  return out;
}

namespace {

constexpr std::size_t kMaxTmpfs = 16;
constexpr std::uint64_t kLeastTmpfs = 4096;

Result<void> check_tmpfs(const TmpfsMounts& mounts, std::uint64_t memory_bytes) {
  if (mounts.size() > kMaxTmpfs) {
    return invalid("invalid_tmpfs",
                   std::to_string(mounts.size()) + " file systems in memory: at most 16 are made");
  }
  for (const auto& [path, bytes] : mounts) {
    if (!is_guest_place(path)) {
      return invalid(
          "invalid_tmpfs",
          "'" + path +
              "' takes no file system in memory: name an absolute path without '.' and '..', "
              "outside /proc, /sys, /dev and /run");
    }
    if (bytes != 0 && (bytes < kLeastTmpfs || bytes > memory_bytes)) {
      return invalid("invalid_tmpfs",
                     "the file system in memory at " + path + " cannot have " +
                         std::to_string(bytes) + " bytes: at least " + std::to_string(kLeastTmpfs) +
                         ", at most the sandbox's memory of " + std::to_string(memory_bytes));
    }
  }
  return {};
}

constexpr std::size_t kMaxVolumes = 16;

// As is_guest_place(), and outside /tmp, which is the sandbox's own.
bool is_volume_path(const std::string& path) {
  return is_guest_place(path) && !(path + "/").starts_with("/tmp/");
}

Result<void> check_volumes(const VolumeMounts& mounts, const TmpfsMounts& tmpfs) {
  if (mounts.size() > kMaxVolumes) {
    return invalid("invalid_volumes",
                   std::to_string(mounts.size()) + " volumes: at most 16 are mounted");
  }
  std::vector<std::string> taken;
  for (const auto& [path, bytes] : tmpfs) taken.push_back(path);
  for (const VolumeMount& mount : mounts) {
    if (!is_volume_path(mount.path)) {
      return invalid("invalid_volumes",
                     "'" + mount.path +
                         "' takes no volume: name an absolute path without '.' and '..', outside "
                         "/proc, /sys, /dev, /run and /tmp");
    }
    if (mount.read_only && mount.shared) {
      return invalid("invalid_volumes", "the volume at " + mount.path +
                                            " is either read_only or shared: shared ones write");
    }
    for (const std::string& other : taken) {
      if (!is_within(mount.path, other) && !is_within(other, mount.path)) continue;
      return invalid("invalid_volumes",
                     mount.path + " and " + other + " lie in one another: mount them side by side");
    }
    taken.push_back(mount.path);
  }
  return {};
}

}  // namespace

Result<SandboxSpec> checked(SandboxSpec spec, const Defaults& defaults) {
  if (!spec.name.empty()) {
    CAY_CHECK(check_name(spec.name));
  }
  CAY_CHECK(check_labels(spec.labels));
  CAY_CHECK(check(spec.run));
  Limits& limits = spec.limits;
  const Limits& usual = defaults.limits;
  const Limits& most = defaults.maximum;
  if (limits.cpu_millicores == 0) limits.cpu_millicores = usual.cpu_millicores;
  if (limits.memory_bytes == 0) limits.memory_bytes = usual.memory_bytes;
  if (limits.disk_bytes == 0) limits.disk_bytes = usual.disk_bytes;
  if (limits.pids == 0) limits.pids = usual.pids;
  CAY_CHECK(check_limit("cpu_millicores", limits.cpu_millicores, kLeastLimits.cpu_millicores,
                        most.cpu_millicores));
  CAY_CHECK(check_limit("memory_bytes", limits.memory_bytes, kLeastLimits.memory_bytes,
                        most.memory_bytes));
  CAY_CHECK(check_limit("disk_bytes", limits.disk_bytes, kLeastLimits.disk_bytes, most.disk_bytes));
  CAY_CHECK(check_limit("pids", limits.pids, kLeastLimits.pids, most.pids));
  CAY_CHECK(check_tmpfs(spec.tmpfs, limits.memory_bytes));
  CAY_CHECK(check_volumes(spec.volumes, spec.tmpfs));
  if (spec.policy.empty()) spec.policy = defaults.policy;
  CAY_TRY(policy::Choice choice, chosen_policy(spec.policy, defaults));
  spec.policy = std::move(choice.policy);
  spec.rules = std::move(choice.rules);
  CAY_TRY(const Profile profile, defaults.profiles.choose(spec.profile));
  spec.profile = to_string(profile);
  CAY_CHECK(check_path_rules(
      {spec.read_only_paths, spec.hidden_paths, spec.tmpfs, spec.volumes, profile}));
  if (!spec.idle_ttl_s) spec.idle_ttl_s = defaults.idle_ttl_s;
  if (!spec.delete_after_stop_s) spec.delete_after_stop_s = defaults.delete_after_stop_s;
  CAY_CHECK(check_ttl("idle_ttl_s", *spec.idle_ttl_s));
  CAY_CHECK(check_ttl("delete_after_stop_s", *spec.delete_after_stop_s));
  CAY_CHECK(check_ttl("lifetime_s", spec.lifetime_s));
  return spec;
}

Result<void> check(const SandboxPatch& patch, const Defaults& defaults) {
  const Limits& most = defaults.maximum;
  if (patch.name) {
    CAY_CHECK(check_name(*patch.name));
  }
  if (patch.labels) {
    CAY_CHECK(check_labels(*patch.labels));
  }
  if (patch.claim && !patch.claim->empty()) {
    CAY_CHECK(check_claim(*patch.claim));
  }
  if (patch.run) {
    CAY_CHECK(check(*patch.run));
  }
  if (patch.policy) {
    CAY_CHECK(chosen_policy(*patch.policy, defaults));
  }
  if (patch.idle_ttl_s) {
    CAY_CHECK(check_ttl("idle_ttl_s", *patch.idle_ttl_s));
  }
  if (patch.delete_after_stop_s) {
    CAY_CHECK(check_ttl("delete_after_stop_s", *patch.delete_after_stop_s));
  }
  if (patch.lifetime_s) {
    CAY_CHECK(check_ttl("lifetime_s", *patch.lifetime_s));
  }
  if (patch.cpu_millicores) {
    CAY_CHECK(check_limit("cpu_millicores", *patch.cpu_millicores, kLeastLimits.cpu_millicores,
                          most.cpu_millicores));
  }
  if (patch.memory_bytes) {
    CAY_CHECK(check_limit("memory_bytes", *patch.memory_bytes, kLeastLimits.memory_bytes,
                          most.memory_bytes));
  }
  if (patch.disk_bytes) {
    CAY_CHECK(
        check_limit("disk_bytes", *patch.disk_bytes, kLeastLimits.disk_bytes, most.disk_bytes));
  }
  return {};
}

Result<CommandSpec> checked(CommandSpec spec) {
  if (spec.id.get().empty()) spec.id = CommandId(new_uuid());
  CAY_CHECK(check_command_id(spec.id));
  if (spec.argv.empty() || spec.argv.front().empty()) {
    return invalid("invalid_argv", "a command needs a program: argv[0] is empty");
  }
  const std::string* line = spec.shell_line ? &spec.argv.back() : nullptr;
  for (const auto& argument : spec.argv) {
    if (has_nul(argument)) return invalid("invalid_argv", "an argument must not contain NUL");
    if (&argument != line && argument.size() > kMaxArgumentBytes) {
      return too_long("an argument is", argument.size(), kMaxArgumentBytes);
    }
  }
  CAY_CHECK(check(spec.run));
  CAY_CHECK(check_size(spec));
  if (spec.pty) {
    CAY_CHECK(check_pty(*spec.pty));
  }
  if (spec.timeout_ms < 0 || spec.timeout_ms > kMaxTime) {
    return invalid("invalid_timeout", "a timeout is 0 (none) to ten years");
  }
  if (spec.idle_timeout_ms < -1 || spec.idle_timeout_ms > kMaxTime || spec.ttl_ms < -1 ||
      spec.ttl_ms > kMaxTime) {
    return invalid("invalid_timeout",
                   "idle timeout and keeping time are -1 (for ever) to ten years");
  }
  return spec;
}

Result<void> check_size(const CommandSpec& spec) {
  const std::size_t total = command_bytes(spec);
  if (total > kMaxCommandBytes)
    return too_long("arguments and environment together are", total, kMaxCommandBytes);
  return {};
}

Result<void> check_command_id(const CommandId& id) {
  if (is_valid_command_id(id.get())) return {};
  return invalid("invalid_command_id",
                 "a command's id has 1 to 128 letters, digits, '.', '_' or '-', and begins with "
                 "none of '.' and '-'");
}

Result<void> check_signal(int signal) {
  if (signal >= 0 && signal <= kMaxSignal) return {};
  return invalid("invalid_signal", "a signal is 1 to 64, or 0 to kill the whole tree");
}

Result<void> check_pty(PtySize size) {
  if (size.rows > 0 && size.cols > 0) return {};
  return invalid("invalid_pty_size", "a terminal has at least one row and one column");
}

Result<void> check_path(const std::string& path) {
  if (!path.empty() && path.size() <= kMaxPath && !has_nul(path)) return {};
  return invalid("invalid_path", "a path has 1 to 4095 bytes and no NUL");
}

Result<void> check_as(const FileAs& as) {
  if (as.user.size() > kMaxUser || has_nul(as.user)) {
    return invalid("invalid_user", "a user is a name, uid, name:group or uid:gid");
  }
  if (!as.workdir.empty() &&
      (as.workdir.front() != '/' || as.workdir.size() > kMaxPath || has_nul(as.workdir))) {
    return invalid("invalid_workdir",
                   "a working directory is an absolute path of at most 4095 bytes");
  }
  return {};
}

}  // namespace cay::core
