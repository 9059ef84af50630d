#include "launcher/default_snapshot.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "base/sha256.h"
#include "launcher/default_snapshot_etc.h"
#include "launcher/default_snapshot_local.h"
#include "launcher/default_snapshot_tree.h"
#include "os/file.h"

namespace cay::launcher {
namespace {

// Raised whenever the builder makes another tree of the same packages.
constexpr std::string_view kBuilderVersion = "6";
constexpr std::string_view kBuilding = ".building-";

std::string random_uuid() {
  std::array<unsigned char, 16> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != 16) return "";
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0f) | 0x40);  // RFC 9562, version 4
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3f) | 0x80);
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += "0123456789abcdef"[bytes[i] >> 4];
    text += "0123456789abcdef"[bytes[i] & 15];
  }
  return text;
}

// "name version architecture" of each installed package, in the database's order. Other lines of
// the database change without any file of /usr changing.
std::string package_list(std::string_view status) {
  std::string list, current;
  bool installed = false;
  const auto flush = [&] {
    if (installed) list += current + "\n";
    current.clear();
    installed = false;
  };
  for (std::size_t at = 0; at < status.size();) {
    const std::size_t end = std::min(status.find('\n', at), status.size());
    const std::string_view line = status.substr(at, end - at);
    at = end + 1;
    if (line.empty()) flush();
    for (std::string_view key : {"Package: ", "Version: ", "Architecture: "})
      if (line.starts_with(key)) current += std::string(line.substr(key.size())) + " ";
    if (line.starts_with("Status: ")) installed = line.ends_with(" installed");
  }
  flush();
  return list;
}

// A digest that changes with the host's system. Without a Debian package database it goes by the
// times of the RPM database or of /usr.
std::string fingerprint_of(int host, TreeWriter& tree, const wire::PrepareDefault& with) {
  std::string what =
      "builder " + std::string(kBuilderVersion) + "\n" + tree.host_text("etc/os-release");
  what += apt_sources(tree.host_text("etc/os-release"), apt_files(tree));
  what += wire::encode(with);
  what += identity_of_local(host, tree);
  if (with.host_authorities) {
    for (const std::string& name : tree.host_names("usr/local/share/ca-certificates")) {
      what += tree.host_text("usr/local/share/ca-certificates/" + name);
    }
  }
  const std::string packages = package_list(tree.host_text("var/lib/dpkg/status"));
  what += packages;
  if (packages.empty()) {
    for (const char* path :
         {"usr/lib/sysimage/rpm/rpmdb.sqlite", "var/lib/rpm/rpmdb.sqlite", "usr/bin", "usr/lib"}) {
      struct stat info{};
      if (::fstatat(host, path, &info, 0) == 0) {
        what += std::string(path) + " " + std::to_string(info.st_mtim.tv_sec) + " " +
                std::to_string(info.st_size) + "\n";
      }
    }
  }
  return sha256_hex(what);
}

// LAYERS/ID/snapshot: "key value" lines.
std::string describe(const wire::SnapshotMsg& of) {
  return "name " + of.name + "\nfingerprint " + of.fingerprint + "\nused_bytes " +
         std::to_string(of.used_bytes) + "\ncreated_at " + std::to_string(of.created_at) + "\n";
}

std::string field(std::string_view text, std::string_view key) {
  const std::size_t at =
      text.starts_with(std::string(key) + " ") ? 0 : text.find("\n" + std::string(key) + " ");
  if (at == std::string_view::npos) return "";
  const std::size_t begin = text.find(' ', at) + 1;
  return std::string(text.substr(begin, text.find('\n', begin) - begin));
}

template <class Number>
Number number(const std::string& text) {
  Number value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Result<wire::SnapshotMsg> find_ready(int layers, const std::string& fingerprint) {
  CAY_TRY(auto names, os::list_dir(layers));
  wire::SnapshotMsg none;
  for (const std::string& name : names) {
    if (name.starts_with('.')) continue;
    auto text = os::read_file(layers, name + "/snapshot");
    if (!text || field(*text, "name") != "default" || field(*text, "fingerprint") != fingerprint)
      continue;
    wire::SnapshotMsg found{
        .id = name, .name = "default", .status = "ready", .fingerprint = fingerprint};
    found.used_bytes = number<std::uint64_t>(field(*text, "used_bytes"));
    found.created_at = number<std::int64_t>(field(*text, "created_at"));
    return found;
  }
  return none;
}

Result<void> remove_unfinished(int layers, const Progress& progress) {
  CAY_TRY(auto names, os::list_dir(layers));
  for (const std::string& name : names) {
    const bool removing = name.starts_with(kRemovingSnapshot);
    if (!removing && !name.starts_with(kBuilding)) continue;
    progress(removing ? "going on to remove a snapshot that no sandbox uses"
                      : "removing a default snapshot that was not finished");
    CAY_CHECK(os::remove_tree(layers, name));
  }
  return {};
}

bool left_out_of_usr(std::string_view path) {
  if (path.starts_with("usr/local/")) return left_out_of_local(path);
  if (path == "usr/etc") return true;  // npm's settings of the host, which may hold a token
  // It would forbid pip to install as root; a sandbox's own system is meant for that.
  return path.starts_with("usr/lib/python3") && path.ends_with("/EXTERNALLY-MANAGED");
}

// The host's set-id programs that keep their bits: inside a user namespace they reach only its ids.
// All others come without.
Result<void> restore_set_id(TreeWriter& tree) {
  struct Program {
    const char* path;
    mode_t mode;
  };
  constexpr Program kKnown[] = {
      {"usr/bin/sudo", 04755},         {"usr/bin/su", 04755},      {"usr/bin/passwd", 04755},
      {"usr/bin/newgrp", 04755},       {"usr/bin/gpasswd", 04755}, {"usr/bin/chfn", 04755},
      {"usr/bin/chsh", 04755},         {"usr/bin/chage", 02755},   {"usr/bin/expiry", 02755},
      {"usr/sbin/unix_chkpwd", 02755},
  };
  for (const Program& program : kKnown) {
    CAY_TRY(const bool there, tree.copy_with_mode(program.path, program.mode));
    static_cast<void>(there);
  }
  return {};
}

// The loader's cache, by the host's own ldconfig: the host's would name libraries that are not
// here. Without it the loader searches its standard directories, so a failure is said and no more.
void run_ldconfig(int root, const Progress& progress) {
  const pid_t child = ::fork();
  if (child == 0) {
    char program[] = "/sbin/ldconfig", chroot_flag[] = "-r", here[] = ".", no_cache[] = "-i";
    char* const arguments[] = {program, no_cache, chroot_flag, here, nullptr};
    char* const no_environment[] = {nullptr};
    const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (::fchdir(root) != 0 || null < 0 || ::unshare(CLONE_NEWNET) != 0)
      ::_exit(127);  // nothing that makes a snapshot has a network
    for (int fd = 0; fd < 3; ++fd) ::dup2(null, fd);
    ::close_range(3, ~0U, 0);
    ::execve(program, arguments, no_environment);
    ::_exit(127);
  }
  int status = -1;
  while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0)
    progress(
        "no library cache: ldconfig did not work on the new tree; programs start a little slower");
}

Result<void> fill(TreeWriter& tree, int host, int root, const SnapshotSource& source,
                  const Progress& progress) {
  progress(
      "making the default snapshot, for there is none of this host's /usr as it is: linking it");
  for (const char* top : {"bin", "sbin", "lib", "lib32", "lib64", "libx32"}) {
    CAY_CHECK(tree.link_tree(top));
  }
  CAY_CHECK(tree.link_tree("usr", [&](std::string_view path) {
    return left_out_of_usr(path) || (path == "usr/local" && !why_no_local(host, tree).empty());
  }));
  CAY_CHECK(restore_set_id(tree));
  progress("writing /etc and the package database");
  CAY_CHECK(write_system(tree, source.with, progress));
  if (::fchown(root, 0, 0) != 0 || ::fchmod(root, 0755) != 0)
    return Error::from_errno(errno, "set the mode of the new root");
  if (source.host_root == "/") run_ldconfig(root, progress);
  return {};
}

}  // namespace

Result<wire::SnapshotMsg> build_default_snapshot(const std::string& layers_path,
                                                 const Progress& progress,
                                                 const SnapshotSource& source) {
  UniqueFd layers(::open(layers_path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!layers) return Error::from_errno(errno, "open the directory of snapshots");
  UniqueFd host(::open(source.host_root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!host) return Error::from_errno(errno, "open " + source.host_root);
  CAY_CHECK(remove_unfinished(layers.get(), progress));

  TreeWriter looking(host.get(), -1, progress);
  if (!looking.host_has("usr/bin")) {
    return Error{Code::kUnsupported, "no_usr",
                 "this host has no /usr/bin: no default snapshot can be made of it", 0};
  }
  const std::string fingerprint = fingerprint_of(host.get(), looking, source.with);
  CAY_TRY(wire::SnapshotMsg ready, find_ready(layers.get(), fingerprint));
  if (!ready.id.empty()) return ready;

  const std::string id = random_uuid();
  if (id.empty()) return Error::from_errno(errno, "make an id");
  const std::string building = std::string(kBuilding) + id;
  if (::mkdirat(layers.get(), building.c_str(), 0700) != 0)
    return Error::from_errno(errno, "make " + building);
  CAY_TRY(UniqueFd dir, os::open_dir(layers.get(), building));
  if (::mkdirat(dir.get(), "root", 0700) != 0)
    return Error::from_errno(errno, "make " + building + "/root");
  CAY_TRY(UniqueFd root, os::open_dir(dir.get(), "root"));

  const timespec begun = [] {
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    return now;
  }();
  TreeWriter tree(host.get(), root.get(), progress);
  auto filled = fill(tree, host.get(), root.get(), source, progress);
  if (!filled) {
    static_cast<void>(os::remove_tree(layers.get(), building));
    return std::move(filled).error().while_doing("make the default snapshot");
  }
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  wire::SnapshotMsg made{
      .id = id, .name = "default", .status = "ready", .fingerprint = fingerprint};
  made.used_bytes = tree.copied_bytes();
  made.created_at = std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
  CAY_CHECK(os::replace_file(dir.get(), "snapshot", describe(made), 0600));
  progress("writing the default snapshot to the disk");
  if (::syncfs(dir.get()) != 0)
    return Error::from_errno(errno, "write the default snapshot to the disk");
  if (::renameat(layers.get(), building.c_str(), layers.get(), id.c_str()) != 0) {
    return Error::from_errno(errno, "rename " + building);
  }
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const long millis =
      (now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1'000'000;
  progress("made the default snapshot: " + std::to_string(tree.entries()) + " files in " +
           std::to_string(millis / 1000) + "." + std::to_string(millis / 100 % 10) + " s");
  return made;
}

}  // namespace cay::launcher
