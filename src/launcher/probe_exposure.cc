#include "launcher/probe_exposure.h"

#include <fcntl.h>
#include <grp.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

#include "os/file.h"
#include "os/process.h"

namespace cay::launcher {
namespace {

using Feature = wire::FeatureMsg;

constexpr uid_t kNobody = 65534;

std::string text_of(const std::string& path) {
  return os::read_file(AT_FDCWD, path, std::size_t{4} << 20).value_or("");
}

void add_word(std::string& list, const std::string& word) {
  list += (list.empty() ? "" : ", ") + word;
}

template <typename Visit>
bool any_line(std::string_view text, Visit&& visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (visit(text.substr(0, end))) return true;
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return false;
}

// modprobe.d(5): what keeps a program's socket(AF_ALG) from loading the module.
bool may_not_be_loaded(const ExposedHost& host) {
  if (text_of(host.root + "/proc/sys/kernel/modules_disabled").starts_with('1')) return true;
  for (const char* place : {"/etc/modprobe.d", "/run/modprobe.d", "/usr/lib/modprobe.d"}) {
    const auto dir = os::open_dir(AT_FDCWD, host.root + place);
    const auto names = dir ? os::list_dir(dir->get())
                           : Result<std::vector<std::string>>(std::vector<std::string>());
    if (!names) continue;
    for (const std::string& name : *names) {
      if (!name.ends_with(".conf")) continue;
      const std::string text = os::read_file(dir->get(), name).value_or("");
      if (any_line(text, [](std::string_view line) {
            return line == "blacklist af_alg" || line == "alias net-pf-38 off" ||
                   (line.starts_with("install af_alg ") &&
                    (line.ends_with("/false") || line.ends_with("/true")));
          })) {
        return true;
      }
    }
  }
  return false;
}

// Never by making such a socket, which would load the module.
Feature crypto_sockets(const ExposedHost& host) {
  Feature feature{"crypto sockets", true, "", "", ""};
  const bool loaded = any_line(text_of(host.root + "/proc/net/protocols"),
                               [](std::string_view line) { return line.starts_with("ALG "); });
  utsname name{};
  ::uname(&name);
  const std::string modules = text_of(host.root + "/lib/modules/" + name.release + "/modules.dep");
  const bool there = modules.find("/af_alg.ko") != std::string::npos;
  if (!loaded && (!there || may_not_be_loaded(host))) {
    feature.found = there ? "AF_ALG is not loaded, and may not be" : "AF_ALG is not in this kernel";
    return feature;
  }
  feature.found = std::string(loaded ? "AF_ALG is in the kernel"
                                     : "AF_ALG is loaded at any process's request") +
                  "; sandboxes are refused it (the filter)";
  feature.remedy =
      "where nothing of the host's needs it: echo 'install af_alg /bin/false' > "
      "/etc/modprobe.d/af_alg.conf";
  if (loaded && there) feature.remedy += "; rmmod af_alg";
  return feature;
}

// Code inside can make the kernel request modules. An execve of a file of no known format requests
// `binfmt-…` (not on kernels of the last years). RTM_GETTFILTER for an unknown classifier needs no
// capability and requests `net-cls-…` (net/sched/cls_api.c, tcf_proto_lookup_ops). No filter sees a
// file's first bytes or a message's contents, and no group pays for modprobe's CPU.
Feature module_requests(const ExposedHost& host) {
  Feature feature{"module requests", true, "the kernel runs no program to look for modules", "",
                  ""};
  std::string program = text_of(host.root + "/proc/sys/kernel/modprobe");
  while (program.ends_with('\n')) program.pop_back();
  if (program.empty() || text_of(host.root + "/proc/sys/kernel/modules_disabled").starts_with('1'))
    return feature;
  feature.found =
      "the kernel runs " + program +
      " where a module is looked for; a sandbox can have that done in every profile, by asking "
      "route netlink for a classifier of no known name and, on older kernels, by executing files "
      "of no known format";
  feature.remedy = "where the host has loaded all that it needs: sysctl -w kernel.modprobe=''";
  return feature;
}

// The fields of a line of passwd(5) or group(5).
std::vector<std::string> fields_of(std::string_view line, char between) {
  std::vector<std::string> out(1);
  for (const char c : line) {
    if (c == between) {
      out.emplace_back();
    } else {
      out.back() += c;
    }
  }
  return out;
}

// By the files alone: the launcher loads no modules of the name service.
std::vector<gid_t> groups_of(const ExposedHost& host, uid_t uid) {
  std::string name;
  any_line(text_of(host.root + "/etc/passwd"), [&](std::string_view line) {
    const auto fields = fields_of(line, ':');
    if (fields.size() > 2 && fields[2] == std::to_string(uid)) name = fields[0];
    return !name.empty();
  });
  std::vector<gid_t> groups;
  if (name.empty()) return groups;
  any_line(text_of(host.root + "/etc/group"), [&](std::string_view line) {
    const auto fields = fields_of(line, ':');
    if (fields.size() < 4) return false;
    const auto members = fields_of(fields[3], ',');
    if (std::find(members.begin(), members.end(), name) != members.end()) {
      groups.push_back(static_cast<gid_t>(std::strtoul(fields[2].c_str(), nullptr, 10)));
    }
    return false;
  });
  return groups;
}

// Checks as that user: the kernel decides on its rights.
bool may_write(const std::string& path, uid_t uid, gid_t gid, const std::vector<gid_t>& groups) {
  auto child = os::clone_process(0);
  if (!child) return false;
  if (child->pid == 0) {
    if (::setgroups(groups.size(), groups.data()) != 0 || ::setresgid(gid, gid, gid) != 0 ||
        ::setresuid(uid, uid, uid) != 0)
      ::_exit(1);
    ::_exit(::access(path.c_str(), W_OK) == 0 ? 0 : 1);
  }
  int status = 1;
  return ::waitpid(child->pid, &status, 0) == child->pid && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

// A user who may use one is root of the host.
Feature container_engines(const ExposedHost& host) {
  Feature feature{"container engines", true, "", "", ""};
  std::vector<std::pair<dev_t, ino_t>> seen;  // /var/run is /run on most
  for (const char* name : {"/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock",
                           "/run/containerd/containerd.sock"}) {
    const std::string path = host.root + name;
    struct stat info{};
    if (::stat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) continue;
    if (std::find(seen.begin(), seen.end(), std::pair(info.st_dev, info.st_ino)) != seen.end())
      continue;
    seen.emplace_back(info.st_dev, info.st_ino);
    const bool everybody = may_write(path, kNobody, kNobody, {});
    if (!everybody &&
        !may_write(path, host.daemon_uid, host.daemon_gid, groups_of(host, host.daemon_uid))) {
      add_word(feature.found, path + " is not for the daemon's user");
      continue;
    }
    feature.ok = false;
    add_word(feature.found,
             path + (everybody ? " is open to everybody" : " is open to the daemon's user"));
    feature.remedy += (feature.remedy.empty() ? "" : "; ") +
                      (everybody ? "chmod o-rw " + path
                                 : "take the daemon's user out of the group of " + path +
                                       ", and restart the daemon");
  }
  if (seen.empty()) feature.found = "no socket of one";
  if (!feature.ok) feature.fallback = "whoever takes the daemon over is root of this host by it";
  return feature;
}

Feature data_directory(const ExposedHost& host) {
  Feature feature{"data directory", true, "only its owners write there", "", ""};
  std::error_code failed;
  const std::filesystem::path data = std::filesystem::canonical(host.data, failed);
  const auto dir = os::open_dir(AT_FDCWD, host.data);
  const auto names =
      dir ? os::list_dir(dir->get()) : Result<std::vector<std::string>>(std::vector<std::string>());
  if (failed || !dir || !names) {
    feature.found = "cannot be looked at";
    return feature;
  }
  std::string open, places;
  const auto tell = [&](const std::string& path) {
    add_word(open, path);
    places += " " + path;
  };
  struct stat info{};
  if (::fstat(dir->get(), &info) == 0 && (info.st_mode & S_IWOTH) != 0) tell(data);
  std::vector<std::string> sorted = *names;
  std::sort(sorted.begin(), sorted.end());
  for (const std::string& name : sorted) {
    if (::fstatat(dir->get(), name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 &&
        !S_ISLNK(info.st_mode) && (info.st_mode & S_IWOTH) != 0) {
      tell((data / name).string());
    }
  }
  // A user who may rename entries of a directory can put another one in its place.
  for (std::filesystem::path above = data.parent_path();; above = above.parent_path()) {
    if (::stat(above.c_str(), &info) == 0 && (info.st_mode & (S_IWOTH | S_ISVTX)) == S_IWOTH)
      tell(above);
    if (above == above.root_path()) break;
  }
  if (open.empty()) return feature;
  feature.ok = false;
  feature.found = "everybody may write: " + open;
  feature.fallback = "any user of this host could change what Cay goes by";
  feature.remedy = "chmod o-w" + places;
  return feature;
}

}  // namespace

std::vector<Feature> probe_exposure(const ExposedHost& host) {
  return {crypto_sockets(host), module_requests(host), container_engines(host),
          data_directory(host)};
}

}  // namespace cay::launcher
