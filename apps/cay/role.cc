#include "role.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

#include "os/file.h"
#include "os/unix_socket.h"
#include "role_process.h"

namespace cay::app {
namespace {

constexpr const char* kLock = "lock";
constexpr std::size_t kMostIdentity = 2 << 20;
constexpr auto kStopLimit = std::chrono::seconds(10);
constexpr int kPollMs = 5;

std::string in_its_directory(const Role& role, const std::string& data, const char* name) {
  return data + "/" + role.directory + "/" + name;
}

struct flock whole_file() {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

}  // namespace

Result<DaemonUser> role_user(const Role& role, const std::string& wanted) {
  if (::geteuid() != 0) return DaemonUser{::getuid(), ::getgid(), "you"};
  const std::string name = wanted.empty() ? role.user : wanted;
  if (const passwd* entry = ::getpwnam(name.c_str()); entry != nullptr)
    return DaemonUser{entry->pw_uid, entry->pw_gid, name};
  if (!wanted.empty())
    return Error{Code::kInvalidArgument, "no_such_user", "there is no user '" + wanted + "'", 0};
  return DaemonUser{role.uid, role.uid, "uid " + std::to_string(role.uid)};
}

std::optional<DaemonUser> role_owner(const Role& role, const std::string& data) {
  struct stat info{};
  if (::geteuid() != 0 || ::stat((data + "/" + role.directory).c_str(), &info) != 0 ||
      info.st_uid == 0)
    return std::nullopt;
  const passwd* entry = ::getpwuid(info.st_uid);
  return DaemonUser{info.st_uid, entry != nullptr ? entry->pw_gid : static_cast<gid_t>(info.st_uid),
                    "uid " + std::to_string(info.st_uid)};
}

bool role_is_ours(const Role& role, const std::string& data, const DaemonUser& user) {
  struct stat info{};
  if (::stat((data + "/" + role.directory).c_str(), &info) != 0) return true;
  return ::geteuid() == 0 || info.st_uid == user.uid;
}

std::optional<pid_t> role_pid(const Role& role, const std::string& data) {
  const UniqueFd fd(
      ::open(in_its_directory(role, data, kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct flock lock = whole_file();
  if (!fd || ::fcntl(fd.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return std::nullopt;
  return lock.l_pid;
}

std::string role_identity(const Role& role, const std::string& data) {
  return os::read_file(AT_FDCWD, in_its_directory(role, data, kLock), kMostIdentity).value_or("");
}

Result<UniqueFd> hold_role(const Role& role, const std::string& data) {
  return os::connect_unix(in_its_directory(role, data, role.socket));
}

Result<void> stop_role(const Role& role, const std::string& data) {
  const auto pid = role_pid(role, data);
  if (!pid) return {};
  const std::string word = role.word;
  if (::kill(*pid, SIGTERM) != 0 && errno != ESRCH)
    return Error::from_errno(errno, "end the " + word);
  const auto end = std::chrono::steady_clock::now() + kStopLimit;
  while (role_pid(role, data) == pid) {
    if (std::chrono::steady_clock::now() > end)
      return Error{Code::kDeadlineExceeded, "does_not_end", "the " + word + " did not end in 10 s",
                   0};
    ::poll(nullptr, 0, kPollMs);
  }
  return {};
}

UniqueFd lock_role(const Role& role) {
  UniqueFd lock(
      ::openat(kRoleDirectory, kLock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, role.lock_mode));
  struct flock all = whole_file();
  if (!lock || ::fcntl(lock.get(), F_SETLK, &all) != 0) return {};
  ::fchmod(lock.get(), role.lock_mode);  // a former release may have made it with another
  return lock;
}

void tell_identity(const UniqueFd& lock, const std::string& identity) {
  if (::ftruncate(lock.get(), 0) == 0)
    (void)!::pwrite(lock.get(), identity.data(), identity.size(), 0);
}

}  // namespace cay::app
