#include "launcher/validate.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/ascii.h"

namespace cay::launcher {
namespace {

bool is_lower_alnum(char c) { return is_lower(c) || is_digit(c); }

Error invalid(std::string message) {
  return Error{Code::kInvalidArgument, "bad_request", std::move(message), 0};
}

constexpr std::size_t kMostPolicy = 64;
constexpr std::size_t kMostNetworks = 64;
constexpr std::size_t kMostUrl = 1024;
constexpr std::size_t kMostTmpfs = 16;
constexpr std::size_t kMostMounts = 16;
constexpr std::size_t kMostPath = 4095;
constexpr std::size_t kMostPathRules = 32;
constexpr std::ptrdiff_t kMostParts = 32;  // each directory above a rule is a mount

// It becomes a line of a file inside, which everybody there may read: no line breaks, no user and
// password.
bool is_plain_url(std::string_view text) {
  if (text.empty()) return true;
  if (text.size() > kMostUrl || !(text.starts_with("https://") || text.starts_with("http://")))
    return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7f && c != '@' && c != '"' && c != '\\';
  });
}

// Init opens it part by part; what Cay itself mounts stays uncovered.
bool is_tmpfs_path(std::string_view path) {
  if (path.size() < 2 || path.size() > kMostPath || path.find('\0') != std::string_view::npos)
    return false;
  for (const std::string_view own : {"/proc", "/sys", "/dev", "/run"}) {
    if (path.starts_with(own) && (path.size() == own.size() || path[own.size()] == '/'))
      return false;
  }
  return is_cgroup_parent(path);
}

Result<void> check_mounts(const std::vector<wire::DiskMountMsg>& mounts) {
  if (mounts.size() > kMostMounts) return invalid("more than 16 mounts");
  for (const wire::DiskMountMsg& mount : mounts) {
    if (!is_tmpfs_path(mount.path)) return invalid("a mount has no plain absolute path");
    if (mount.volume_id.empty() == mount.layer_id.empty())
      return invalid("a mount is of a volume or of a layer");
    if (!is_uuid(mount.volume_id.empty() ? mount.layer_id : mount.volume_id))
      return invalid("a mount's id is not a lower-case UUID");
  }
  return {};
}

Result<void> check_path_rules(const wire::CreateSandbox& request) {
  if (request.read_only_paths.empty() && request.hidden_paths.empty()) return {};
  if (request.read_only_paths.size() + request.hidden_paths.size() > kMostPathRules)
    return invalid("more than 32 read-only and hidden paths");
  if (profile_of(request) == Profile::kNested)
    return invalid("containers could rename read-only and hidden paths (guest_mounts.h)");
  for (const auto* list : {&request.read_only_paths, &request.hidden_paths}) {
    for (const std::string& path : *list) {
      if (!is_tmpfs_path(path)) return invalid("a rule has no plain absolute path");
      if (std::count(path.begin(), path.end(), '/') > kMostParts)
        return invalid("the path of a rule has more than 32 parts");
    }
  }
  return {};
}

template <class T>
Result<void> in_range(T value, T low, T high, const char* name) {
  if (value >= low && value <= high) return {};
  return invalid(std::string(name) + " is " + std::to_string(value) + "; allowed are " +
                 std::to_string(low) + " to " + std::to_string(high));
}

}  // namespace

bool is_uuid(std::string_view text) {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_lower_hex(text[i])) return false;
  }
  return true;
}

bool is_hostname(std::string_view text) {
  if (text.empty() || text.size() > 63 || text.front() == '-' || text.back() == '-') return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower_alnum(c) || c == '-'; });
}

bool is_instance(std::string_view text) {
  if (text.empty() || text.size() > 64) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return is_lower_alnum(c) || c == '-'; });
}

bool is_cgroup_parent(std::string_view text) {
  if (text.empty()) return true;
  while (!text.empty()) {
    if (text.front() != '/') return false;
    text.remove_prefix(1);
    const std::string_view part = text.substr(0, text.find('/'));
    if (part.empty() || part == "." || part == "..") return false;
    text.remove_prefix(part.size());
  }
  return true;
}

Result<void> check(const wire::CreateSandbox& request) {
  if (!is_uuid(request.sandbox_id)) return invalid("sandbox_id is not a lower-case UUID");
  const bool on_nothing = request.builds_layer && request.snapshot_id.empty();
  if (!on_nothing && !is_uuid(request.snapshot_id))
    return invalid("snapshot_id is not a lower-case UUID");
  if (!request.disk_of.empty() && !is_uuid(request.disk_of))
    return invalid("disk_of is not a lower-case UUID");
  if (!is_hostname(request.hostname))
    return invalid("hostname must be 1-63 of a-z, 0-9 and inner dashes");
  CAY_CHECK(in_range<std::uint64_t>(request.cpu_millicores, 10, 10'000'000, "cpu_millicores"));
  CAY_CHECK(in_range<std::uint64_t>(request.memory_bytes, std::uint64_t{8} << 20,
                                    std::uint64_t{1} << 50, "memory_bytes"));
  CAY_CHECK(in_range<std::uint64_t>(request.disk_bytes, std::uint64_t{1} << 20,
                                    std::uint64_t{1} << 60, "disk_bytes"));
  CAY_CHECK(in_range<std::uint64_t>(request.pids, 4, 4'000'000, "pids"));
  if (!request.profile.empty() && !profile_from(request.profile)) {
    return Error{Code::kUnsupported, "profile_unsupported",
                 "the launcher is older than this daemon and knows no such profile: restart it", 0};
  }
  if (request.policy.size() > kMostPolicy) return invalid("policy is too long");
  if (request.networks.size() > kMostNetworks) return invalid("more than 64 networks");
  if (request.tmpfs.size() > kMostTmpfs) return invalid("more than 16 file systems in memory");
  for (const wire::TmpfsMount& mount : request.tmpfs) {
    if (!is_tmpfs_path(mount.path))
      return invalid("a file system in memory has no plain absolute path");
    if (mount.bytes > request.memory_bytes)
      return invalid("a file system in memory is larger than the memory");
  }
  CAY_CHECK(check_mounts(request.mounts));
  return check_path_rules(request);
}

Profile profile_of(const wire::CreateSandbox& request) {
  return profile_from(request.profile).value_or(Profile::kDefault);
}

Result<void> check(const wire::PrepareDefault& request) {
  if (!is_plain_url(request.pip_index)) return invalid("pip_index is no plain URL");
  if (!is_plain_url(request.npm_registry)) return invalid("npm_registry is no plain URL");
  if (!is_plain_url(request.cargo_index)) return invalid("cargo_index is no plain URL");
  if (!is_plain_url(request.go_proxy)) return invalid("go_proxy is no plain URL");
  if (!is_plain_url(request.apt_archive)) return invalid("apt_archive is no plain URL");
  return {};
}

}  // namespace cay::launcher
