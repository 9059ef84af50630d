#include "role_process.h"

#include <grp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "os/caps.h"

namespace cay::app {
namespace {

constexpr off_t kMostSettings = 1 << 20;

}  // namespace

Result<void> drop_to(const DaemonUser& user) {
  if (::geteuid() == 0 && user.uid != 0) {
    // A container may refuse this. Then it has nothing to lose by the bounding set: no_new_privs.
    if (!os::drop_bounding_set() && errno != EPERM)
      return Error::from_errno(errno, "empty the bounding set");
    if (::setgroups(0, nullptr) != 0 || ::setresgid(user.gid, user.gid, user.gid) != 0 ||
        ::setresuid(user.uid, user.uid, user.uid) != 0) {
      return Error::from_errno(errno, "drop root's privileges");
    }
  }
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return Error::from_errno(errno, "no_new_privs");
  return {};
}

Result<UniqueFd> settings_file(const char* name, const std::string& bytes) {
  UniqueFd fd(::memfd_create(name, MFD_CLOEXEC));
  if (!fd) return Error::from_errno(errno, "memfd_create");
  if (::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return Error::from_errno(errno, "write the settings");
  return fd;
}

std::optional<std::string> take_settings() {
  struct stat info{};
  std::string bytes;
  if (::fstat(kRoleSettings, &info) == 0 && info.st_size <= kMostSettings)
    bytes.resize(static_cast<std::size_t>(info.st_size));
  if (::pread(kRoleSettings, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return std::nullopt;
  ::close(kRoleSettings);
  return bytes;
}

Error exec_role(std::vector<std::string> words, std::vector<int> left, const DaemonUser& user) {
  const UniqueFd self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  if (!self) return Error::from_errno(errno, "open this program");
  if (auto dropped = drop_to(user); !dropped) return std::move(dropped).error();
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string path = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
  char* envp[] = {path.data(), nullptr};
  // Above all their numbers first, so that none overwrites another.
  constexpr int kHigh = 10;
  const int high_self = ::fcntl(self.get(), F_DUPFD_CLOEXEC, kHigh);
  if (high_self < 0) return Error::from_errno(errno, "dup");
  for (int& fd : left) {
    fd = ::fcntl(fd, F_DUPFD_CLOEXEC, kHigh);
    if (fd < 0) return Error::from_errno(errno, "dup");
  }
  int number = kRoleSettings;
  for (const int fd : left) {
    if (::dup2(fd, number++) < 0) return Error::from_errno(errno, "dup2");
  }
  ::syscall(SYS_execveat, high_self, "", argv.data(), envp, AT_EMPTY_PATH);
  return Error::from_errno(errno, "start " + words[1]);
}

}  // namespace cay::app
