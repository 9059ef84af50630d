#include "launcher/default_snapshot_local.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "os/file.h"

namespace cay::launcher {
namespace {

constexpr const char* kLocal = "usr/local";

struct LocalDir {
  const char* path;
  mode_t mode;
};
constexpr LocalDir kLocalDirs[] = {
    {"usr/local", 0755},
    {"usr/local/bin", 0755},
    {"usr/local/etc", 0755},
    {"usr/local/games", 0755},
    {"usr/local/include", 0755},
    {"usr/local/lib", 0755},
    {"usr/local/sbin", 0755},
    {"usr/local/share", 0755},
    {"usr/local/share/man", 0755},
    {"usr/local/src", 0755},
    {"usr/local/share/ca-certificates", 0755},
};

struct stat stat_of(int dir, const char* name) {
  struct stat info{};
  if (::fstatat(dir, name, &info, AT_SYMLINK_NOFOLLOW) != 0) info.st_mode = 0;
  return info;
}

// Folds the entries of `dir` into `digest`, in the order of their names, on one file system.
void fold(int dir, dev_t device, const std::string& path, std::string& digest) {
  auto names = os::list_dir(dir);
  if (!names) return;
  std::ranges::sort(*names);
  std::string text = digest + path + "\n";
  std::vector<std::string> inside;
  for (const std::string& name : *names) {
    const struct stat info = stat_of(dir, name.c_str());
    // Python writes its caches whenever a program of root's runs.
    if (info.st_mode == 0 || name == "__pycache__" || left_out_of_local(path + "/" + name))
      continue;
    text += name + " " + std::to_string(info.st_mode) + " " + std::to_string(info.st_uid) + " " +
            std::to_string(info.st_ino);
    if (S_ISREG(info.st_mode)) {
      text += " " + std::to_string(info.st_size) + " " + std::to_string(info.st_mtim.tv_sec) + "." +
              std::to_string(info.st_mtim.tv_nsec);
    }
    text += "\n";
    if (S_ISDIR(info.st_mode) && info.st_dev == device) inside.push_back(name);
  }
  digest = sha256_hex(text);
  for (const std::string& name : inside) {
    auto below = os::open_dir(dir, name);
    if (below) fold(below->get(), device, path + "/" + name, digest);
  }
}

}  // namespace

bool left_out_of_local(std::string_view path) {
  constexpr auto kPlaces =
      std::to_array<std::string_view>({"usr/local/etc", "usr/local/share/ca-certificates"});
  constexpr auto kNames = std::to_array<std::string_view>(
      {".aws", ".docker", ".env", ".git", ".git-credentials", ".gnupg", ".kube", ".netrc", ".npmrc",
       ".pypirc", ".ssh", "id_ecdsa", "id_ed25519", "id_rsa", "npmrc", "pip.conf",
       "EXTERNALLY-MANAGED"});
  constexpr auto kEnds = std::to_array<std::string_view>(
      {".jks", ".key", ".netrc", ".p12", ".password", ".pfx", ".secret"});
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  return std::ranges::find(kPlaces, path) != kPlaces.end() ||
         std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kEnds, [name](std::string_view end) { return name.ends_with(end); });
}

std::string why_no_local(int host, TreeWriter& tree) {
  const auto entry = tree.host_entry(kLocal);
  if (!entry) return "the host has none";
  if (S_ISLNK(entry->st_mode)) return "it is a link to " + tree.host_link(kLocal);
  if (!S_ISDIR(entry->st_mode) || (entry->st_mode & (S_IROTH | S_IXOTH)) != (S_IROTH | S_IXOTH)) {
    return "not every user of the host may read it";
  }
  struct statx above{}, here{};
  if (::statx(host, "usr", 0, STATX_MNT_ID, &above) != 0 ||
      ::statx(host, kLocal, 0, STATX_MNT_ID, &here) != 0 || above.stx_mnt_id != here.stx_mnt_id) {
    return "another file system is mounted there";
  }
  return "";
}

std::string leads_out_of_local(TreeWriter& tree, const std::string& name) {
  std::string target = tree.host_link("usr/local/bin/" + name);
  if (!target.starts_with('/') || target.starts_with("/usr/") || target.starts_with("/bin/"))
    return "";
  return target;
}

std::string identity_of_local(int host, TreeWriter& tree) {
  if (const std::string why = why_no_local(host, tree); !why.empty()) return why;
  auto dir = os::open_dir(host, kLocal);
  std::string digest;
  if (dir) fold(dir->get(), stat_of(dir->get(), ".").st_dev, kLocal, digest);
  return digest;
}

Result<void> write_local(TreeWriter& tree) {
  for (const LocalDir& dir : kLocalDirs) {
    // An admin's own link may stand in its place, or in its parent's, and lead nowhere.
    if (tree.has(dir.path)) continue;
    auto made = tree.make_dir(dir.path, dir.mode);
    if (!made && std::string_view(dir.path) == kLocal) return made;
  }
  struct Called {
    const char *name, *target, *by, *unless;
  };
  // Go's own place is on no PATH.
  constexpr Called kCalled[] = {
      {"usr/local/man", "usr/local/share/man", "share/man", "usr/local/man"},
      {"usr/local/bin/go", "usr/local/go/bin/go", "../go/bin/go", "usr/bin/go"},
      {"usr/local/bin/gofmt", "usr/local/go/bin/gofmt", "../go/bin/gofmt", "usr/bin/gofmt"}};
  for (const Called& called : kCalled) {
    if (!tree.has(called.target) || tree.has(called.name) || tree.has(called.unless)) continue;
    CAY_CHECK(tree.make_link(called.name, called.by));
  }
  return {};
}

}  // namespace cay::launcher
