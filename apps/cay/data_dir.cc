#include "data_dir.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/unique_fd.h"
#include "model/ids.h"

namespace cay::app {
namespace {

// First of Cay's own uids (ARCHITECTURE.md, "Making a sandbox"); the daemon's when no user is
// named.
constexpr uid_t kDaemonUid = 0x70000001;
constexpr std::size_t kInstanceDigits = 12;

enum class Inside { kNo, kYes };  // of DATA, where the daemon's user decides what a name means

Result<void> make_dir(const std::string& path, const DaemonUser& user, mode_t mode, Inside inside) {
  if (::mkdir(path.c_str(), mode) != 0 && errno != EEXIST)
    return Error::from_errno(errno, "make " + path);
  // By descriptor: a name inside may become a link at any moment.
  const UniqueFd dir(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!dir && (errno == ENOTDIR || errno == ELOOP)) {
    return Error{Code::kInvalidArgument, "bad_data_dir", path + " is not a directory", 0};
  }
  struct stat found{};
  if (!dir || ::fstat(dir.get(), &found) != 0) return Error::from_errno(errno, "look at " + path);
  const bool root = ::geteuid() == 0;
  // A data directory that is in use keeps its owner: another would lock the daemon out of its own
  // state.
  const bool used =
      inside == Inside::kNo && ::faccessat(dir.get(), "instance", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
  if (used && found.st_uid != user.uid && root) {
    return Error{Code::kPermissionDenied, "bad_data_dir",
                 path + " is the data directory of a daemon of uid " +
                     std::to_string(found.st_uid) + ", not of " + user.name +
                     ": name that user (--run-as, or --daemon-uid of `cay launcher`), or choose "
                     "another --data",
                 0};
  }
  const bool may_take = root && (inside == Inside::kNo || found.st_uid == 0);
  if (found.st_uid != user.uid && !may_take) {
    return Error{Code::kPermissionDenied, "bad_data_dir",
                 path + " belongs to another user: choose another --data", 0};
  }
  if (root && ::fchown(dir.get(), user.uid, user.gid) != 0) {
    return Error::from_errno(errno, "give " + path + " to the daemon");
  }
  if (::fchmod(dir.get(), mode) != 0) return Error::from_errno(errno, "set the mode of " + path);
  return {};
}

// A parent that root makes below a user's own directory belongs to that user. Root's ~/.local would
// lock them out.
Result<void> make_parents(const std::string& path, const DaemonUser& user) {
  bool under_users = false;
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    const std::string part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0755) == 0) {
      if (under_users && ::lchown(part.c_str(), user.uid, user.gid) != 0)
        return Error::from_errno(errno, "own " + part);
    } else if (errno != EEXIST) {
      return Error::from_errno(errno, "make " + part);
    } else {
      struct stat found{};
      under_users = ::geteuid() == 0 && user.uid != 0 && ::stat(part.c_str(), &found) == 0 &&
                    found.st_uid == user.uid;
    }
  }
  return {};
}

bool may_pass(const struct stat& dir, const DaemonUser& user) {
  if (dir.st_uid == user.uid) return (dir.st_mode & S_IXUSR) != 0;
  if (dir.st_gid == user.gid) return (dir.st_mode & S_IXGRP) != 0;
  return (dir.st_mode & S_IXOTH) != 0;
}

// The daemon's user may pass through every parent. (Keepers get descriptors: they need no path.)
bool reachable(const std::string& path, const DaemonUser& user) {
  for (std::size_t at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
    struct stat found{};
    if (::stat(path.substr(0, at).c_str(), &found) != 0 || !may_pass(found, user)) return false;
  }
  return true;
}

Result<std::string> instance_of(const std::string& path, const DaemonUser& user) {
  const std::string file = path + "/instance";
  const UniqueFd existing(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  char text[kInstanceDigits + 1] = {};
  if (existing) {
    if (::read(existing.get(), text, kInstanceDigits) == static_cast<ssize_t>(kInstanceDigits)) {
      std::string id(text, kInstanceDigits);
      if (id.find_first_not_of("0123456789abcdef") == std::string::npos) return id;
    }
    return Error{Code::kInternal, "bad_instance",
                 file + " is damaged: restore it, or choose another --data", 0};
  }
  std::string id;
  for (const char c : new_uuid()) {
    if (c != '-' && id.size() < kInstanceDigits) id.push_back(c);
  }
  // Written beside and renamed: a torn write leaves no half id.
  const std::string draft = file + ".new";
  const UniqueFd out(
      ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!out) return Error::from_errno(errno, "write " + draft);
  const std::string line = id + "\n";
  if (::write(out.get(), line.data(), line.size()) != static_cast<ssize_t>(line.size()) ||
      ::fsync(out.get()) != 0) {
    return Error::from_errno(errno, "write " + draft);
  }
  if (::geteuid() == 0 && ::fchown(out.get(), user.uid, user.gid) != 0)
    return Error::from_errno(errno, "own " + draft);
  if (::rename(draft.c_str(), file.c_str()) != 0) return Error::from_errno(errno, "write " + file);
  return id;
}

}  // namespace

std::optional<DaemonUser> owner_of_data_dir(const std::string& path) {
  struct stat found{};
  if (::lstat((path + "/instance").c_str(), &found) != 0 || ::stat(path.c_str(), &found) != 0)
    return std::nullopt;
  return DaemonUser{found.st_uid, found.st_gid, "uid " + std::to_string(found.st_uid)};
}

std::string default_data_dir() {
  if (const char* data = std::getenv("CAY_DATA"); data != nullptr && *data != '\0') return data;
  if (::geteuid() == 0) return "/var/lib/cay";
  if (const char* xdg = std::getenv("XDG_DATA_HOME"); xdg != nullptr && *xdg == '/')
    return std::string(xdg) + "/cay";
  const char* home = std::getenv("HOME");
  return std::string(home != nullptr ? home : "/tmp") + "/.local/share/cay";
}

Result<DaemonUser> daemon_user(const std::string& wanted) {
  if (::geteuid() != 0) {
    if (!wanted.empty()) {
      return Error{Code::kInvalidArgument, "run_as_needs_root",
                   "--run-as works only when root starts the daemon", 0};
    }
    return DaemonUser{::getuid(), ::getgid(), "you"};
  }
  const std::string name = wanted.empty() ? "cay" : wanted;
  if (const passwd* entry = ::getpwnam(name.c_str()); entry != nullptr) {
    if (entry->pw_uid == 0)
      return Error{Code::kInvalidArgument, "run_as_root",
                   "the daemon does not run as root, for the launcher alone has its rights: name "
                   "another user with --run-as, or none",
                   0};
    // On many hosts root's group may write the sockets of container engines, so it is as good as
    // root.
    if (entry->pw_gid == 0) {
      return Error{Code::kInvalidArgument, "run_as_root",
                   "the daemon does not run in root's group, which user '" + name +
                       "' is in: give that user a group of its own (usermod -g GROUP " + name +
                       "), or name another with --run-as",
                   0};
    }
    return DaemonUser{entry->pw_uid, entry->pw_gid, name};
  }
  if (!wanted.empty())
    return Error{Code::kInvalidArgument, "no_such_user", "there is no user '" + wanted + "'", 0};
  return DaemonUser{kDaemonUid, kDaemonUid, "uid " + std::to_string(kDaemonUid)};
}

Result<DataDir> open_data_dir(const std::string& wanted, const DaemonUser& user) {
  char cwd[PATH_MAX];
  std::string path = wanted;
  if (path.empty()) return Error{Code::kInvalidArgument, "bad_data_dir", "--data is empty", 0};
  if (path[0] != '/') {
    if (::getcwd(cwd, sizeof cwd) == nullptr) return Error::from_errno(errno, "getcwd");
    path = std::string(cwd) + "/" + path;
  }
  CAY_CHECK(make_parents(path, user));
  CAY_CHECK(make_dir(path, user, 0711, Inside::kNo));
  char real[PATH_MAX];
  if (::realpath(path.c_str(), real) == nullptr) return Error::from_errno(errno, "resolve " + path);
  path = real;
  if (::geteuid() == 0 && user.uid != 0 && !reachable(path, user)) {
    return Error{Code::kPermissionDenied, "data_dir_unreachable",
                 "the daemon runs as " + user.name + " and cannot reach " + path +
                     " through its parents: use a path that others may pass (/var/lib/cay), or "
                     "--run-as a user who can reach it",
                 0};
  }
  CAY_CHECK(make_dir(path + "/run", user, 0700, Inside::kYes));
  CAY_TRY(auto instance, instance_of(path, user));
  return DataDir{path, instance};
}

namespace {

constexpr const char* kUnfinished = "restore.unfinished";

Result<UniqueFd> open_whole(const std::string& path) {
  UniqueFd dir(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!dir) return Error::from_errno(errno, "open " + path);
  return dir;
}

}  // namespace

Result<void> begin_restore(const std::string& path) {
  CAY_TRY(const UniqueFd dir, open_whole(path));
  const UniqueFd mark(
      ::openat(dir.get(), kUnfinished, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  if (!mark || ::fsync(mark.get()) != 0 || ::fsync(dir.get()) != 0)
    return Error::from_errno(errno, "mark " + path);
  return {};
}

Result<void> end_restore(const std::string& path) {
  CAY_TRY(const UniqueFd dir, open_whole(path));
  // The restored data first: after a power cut the directory must not look whole by its name alone.
  if (::syncfs(dir.get()) != 0)
    return Error::from_errno(errno, "bring what was restored to the disk");
  if (::unlinkat(dir.get(), kUnfinished, 0) != 0 || ::fsync(dir.get()) != 0)
    return Error::from_errno(errno, "unmark " + path);
  return {};
}

Result<void> check_restored(const std::string& path) {
  if (::faccessat(AT_FDCWD, (path + "/" + kUnfinished).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) != 0)
    return {};
  return Error{Code::kConflict, "restore_unfinished",
               "a restore into " + path +
                   " was broken off, and a part of it is missing: remove it (sudo cay uninstall "
                   "--purge --data " +
                   path + ") and restore the backup again",
               0};
}

Result<void> become(const DaemonUser& user) {
  if (::geteuid() == 0 && user.uid != 0) {
    if (::setgroups(0, nullptr) != 0 || ::setresgid(user.gid, user.gid, user.gid) != 0 ||
        ::setresuid(user.uid, user.uid, user.uid) != 0) {
      return Error::from_errno(errno, "drop root's privileges");
    }
  }
  // Nothing this process execs may gain privileges; and nobody reads its memory, which holds keys.
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return Error::from_errno(errno, "no_new_privs");
  if (::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return Error::from_errno(errno, "undumpable");
  return {};
}

}  // namespace cay::app
