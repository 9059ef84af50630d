#include "keeper/tracer.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/unique_fd.h"

namespace cay::keeper {
namespace {

UniqueFd open_proc(int root_fd, const std::string& path, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | O_NONBLOCK);
  how.resolve =
      RESOLVE_NO_SYMLINKS;  // a guest cannot mount, but it may put anything where no mount is
  const std::string full = (root_fd >= 0 ? "proc/" : "/proc/") + path;
  return UniqueFd(static_cast<int>(
      ::syscall(SYS_openat2, root_fd >= 0 ? root_fd : AT_FDCWD, full.c_str(), &how, sizeof how)));
}

std::string_view field(std::string_view status, std::string_view key) {
  const std::size_t at = status.find(key);
  if (at == std::string_view::npos) return {};
  status.remove_prefix(at + key.size());
  return status.substr(0, status.find('\n'));
}

}  // namespace

bool kill_tracer_of_dead(int root_fd, pid_t pid) {
  const UniqueFd file = open_proc(root_fd, std::to_string(pid) + "/status", O_RDONLY);
  char buffer[4096];
  const ssize_t size = file ? ::read(file.get(), buffer, sizeof buffer) : -1;
  if (size <= 0) return false;
  const std::string_view status(buffer, static_cast<std::size_t>(size));
  if (!field(status, "\nState:\t").starts_with('Z')) return false;
  const std::string_view tracer = field(status, "\nTracerPid:\t");
  pid_t number = 0;
  std::from_chars(tracer.data(), tracer.data() + tracer.size(), number);
  if (number <= 0) return false;
  // A directory of /proc serves as a pidfd: the process is the one that was looked up.
  const UniqueFd process = open_proc(root_fd, std::to_string(number), O_RDONLY | O_DIRECTORY);
  return process && ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0) == 0;
}

}  // namespace cay::keeper
