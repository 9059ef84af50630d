#include "launcher_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/unique_fd.h"
#include "os/process.h"
#include "os/unix_socket.h"

extern "C" const char cay_launcher_blob[];
extern "C" const char cay_launcher_blob_end[];

namespace cay::app {
namespace {

// The first start makes the disk pool's file system: seconds on a slow disk or an emulated machine.
constexpr auto kStartLimit = std::chrono::seconds(60);
constexpr auto kGreetLimit = std::chrono::seconds(
    65);  // its guardian has seen to a worker that hangs in 60 (launcher/pulse.h)
constexpr int kStopMs = 10'000;
constexpr int kKillMs = 2'000;
constexpr int kPollMs = 5;

std::string socket_path(const std::string& data) { return data + "/run/launcher.sock"; }
std::string log_path(const std::string& data) { return data + "/launcher.log"; }

Result<UniqueFd> launcher_image() {
  UniqueFd fd(::memfd_create("cay-launcher", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return Error::from_errno(errno, "memfd_create");
  const char* at = cay_launcher_blob;
  while (at < cay_launcher_blob_end) {
    const ssize_t n = ::write(fd.get(), at, static_cast<std::size_t>(cay_launcher_blob_end - at));
    if (n < 0) return Error::from_errno(errno, "write the launcher's image");
    at += n;
  }
  // Sealed: nobody can change the program that runs as root (CVE-2019-5736's class).
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) !=
      0) {
    return Error::from_errno(errno, "seal the launcher's image");
  }
  return fd;
}

std::string last_words(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return "";
  constexpr off_t kTail = 1000;
  const off_t size = ::lseek(fd.get(), 0, SEEK_END);
  std::string text(static_cast<std::size_t>(std::min(size, kTail)), '\0');
  const ssize_t n =
      ::pread(fd.get(), text.data(), text.size(), size - static_cast<off_t>(text.size()));
  text.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return text;
}

std::vector<std::string> arguments_of(const LauncherOptions& options) {
  std::vector<std::string> words = {"cay-launcher",
                                    "--data",
                                    options.data,
                                    "--daemon-uid",
                                    std::to_string(options.daemon_uid),
                                    "--daemon-gid",
                                    std::to_string(options.daemon_gid),
                                    "--gate-uid",
                                    std::to_string(options.gate_uid),
                                    "--instance",
                                    options.instance,
                                    "--build",
                                    CAY_VERSION};
  if (!options.cgroup_parent.empty())
    words.insert(words.end(), {"--cgroup-parent", options.cgroup_parent});
  return words;
}

std::vector<char*> c_array(const std::vector<std::string>& words) {
  std::vector<char*> out;
  out.reserve(words.size() + 1);
  for (const auto& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

Result<void> become(const std::vector<std::string>& args) {
  CAY_TRY(const UniqueFd image, launcher_image());
  std::vector<char*> argv = c_array(args);
  ::fexecve(image.get(), argv.data(), environ);
  return Error::from_errno(errno, "start the launcher");
}

// Whether the process has ended, or does within `ms`.
bool ends_within(const UniqueFd& process, int ms) {
  pollfd ended{process.get(), POLLIN, 0};
  while (::poll(&ended, 1, ms) < 0 && errno == EINTR) {
  }
  return ended.revents != 0;
}

Result<void> await_greeting(const std::string& data, std::chrono::seconds limit) {
  CAY_TRY(const UniqueFd fd, os::connect_unix(socket_path(data)));
  const auto end = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now())
            .count();
    pollfd greeted{fd.get(), POLLIN, 0};
    const int ready = left <= 0 ? 0 : ::poll(&greeted, 1, static_cast<int>(left));
    if (ready < 0 && errno == EINTR) continue;
    if (ready < 0) return Error::from_errno(errno, "wait for the launcher");
    char byte = 0;
    if (ready > 0 && ::recv(fd.get(), &byte, 1, MSG_PEEK) == 1) return {};
    return Error{ready == 0 ? Code::kDeadlineExceeded : Code::kUnavailable, "launcher_failed",
                 "the launcher " +
                     (ready == 0 ? "did not look through its records in " +
                                       std::to_string(limit.count()) + " s"
                                 : "ended") +
                     "; its last words (" + log_path(data) + "): " + last_words(log_path(data)),
                 0};
  }
}

}  // namespace

bool launcher_answers(const std::string& data) {
  return os::connect_unix(socket_path(data)).has_value();
}

Result<void> start_launcher(const LauncherOptions& options) {
  if (launcher_answers(options.data)) return {};
  CAY_TRY(const UniqueFd image, launcher_image());
  const UniqueFd log(::open(log_path(options.data).c_str(),
                            O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log) return Error::from_errno(errno, "open " + log_path(options.data));
  const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const std::vector<std::string> args = arguments_of(options);
  std::vector<char*> argv = c_array(args);
  std::string path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
  char* envp[] = {path.data(), nullptr};

  int pids[2];
  if (::pipe2(pids, O_CLOEXEC) != 0) return Error::from_errno(errno, "pipe");
  const UniqueFd from_middle(pids[0]);
  UniqueFd to_us(pids[1]);

  // Two forks: the launcher is nobody's child and outlives us. Its pid comes back through the pipe.
  const pid_t middle = ::fork();
  if (middle < 0) return Error::from_errno(errno, "fork");
  if (middle == 0) {
    ::setsid();
    const pid_t launcher = ::fork();
    if (launcher != 0) {
      (void)!::write(to_us.get(), &launcher, sizeof launcher);
      ::_exit(0);
    }
    ::dup2(null.get(), 0);
    ::dup2(log.get(), 1);
    ::dup2(log.get(), 2);
    ::fexecve(image.get(), argv.data(), envp);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(middle, &status, 0);
  to_us.reset();
  pid_t launcher = -1;
  const bool told =
      ::read(from_middle.get(), &launcher, sizeof launcher) == sizeof launcher && launcher > 0;
  // If it has gone, there is no process to open. Its socket then shows whether another one serves.
  const UniqueFd process(told ? static_cast<int>(::syscall(SYS_pidfd_open, launcher, 0)) : -1);

  const auto end = std::chrono::steady_clock::now() + kStartLimit;
  while (!launcher_answers(options.data)) {
    pollfd ended{process.get(), POLLIN, 0};
    const bool dead = !process || ::poll(&ended, 1, kPollMs) > 0;
    const bool late = std::chrono::steady_clock::now() > end;
    if ((dead && !launcher_answers(options.data)) || late) {
      return Error{
          late ? Code::kDeadlineExceeded : Code::kUnavailable, "launcher_failed",
          std::string(late ? "the launcher did not come up in 60 s" : "the launcher ended") +
              "; its last words (" + log_path(options.data) +
              "): " + last_words(log_path(options.data)),
          0};
    }
  }
  return {};
}

Result<void> await_adoption(const std::string& data) { return await_greeting(data, kStartLimit); }

Result<void> start_or_mend_launcher(const LauncherOptions& options) {
  if (launcher_answers(options.data)) {
    const auto pid = launcher_pid(options.data);
    if (pid && os::continue_if_stopped(*pid))
      std::fprintf(stderr, "cay: the launcher was stopped by a signal: it goes on\n");
    const auto greeted = await_greeting(options.data, kGreetLimit);
    if (greeted) return {};
    // One that has just ended is started again. One that is there and does not greet is of no use.
    if (greeted.error().code == Code::kDeadlineExceeded) {
      std::fprintf(stderr, "cay: the launcher does not greet: it is replaced; sandboxes live on\n");
      const auto stopped = stop_launcher(options.data);
      if (!stopped && stopped.error().code != Code::kNotFound) return stopped;
    }
  }
  return start_launcher(options);
}

std::optional<pid_t> launcher_pid(const std::string& data) {
  auto fd = os::connect_unix(socket_path(data));
  if (!fd) return std::nullopt;
  // The listening socket was made by the guardian, whose end is the end of both.
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(fd->get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  if (peer.uid != 0 || peer.pid <= 1) return std::nullopt;
  return peer.pid;
}

Result<void> stop_launcher(const std::string& data) {
  if (!launcher_answers(data))
    return Error{Code::kNotFound, "launcher_not_running", "no launcher runs for " + data, 0};
  const auto pid = launcher_pid(data);
  if (!pid) {
    return Error{Code::kPermissionDenied, "not_a_launcher",
                 "what listens on " + socket_path(data) + " is not root's", 0};
  }
  const UniqueFd process(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  if (!process && errno != ESRCH) return Error::from_errno(errno, "open the launcher's process");
  if (!process) return {};
  if (::kill(*pid, SIGTERM) != 0) return Error::from_errno(errno, "end the launcher");
  ::kill(*pid, SIGCONT);  // one that is stopped takes no other signal
  if (ends_within(process, kStopMs))
    return {};  // its end, not its socket's: what it holds is let go then
  // Without its socket it is not missed: whoever watches would start another one.
  ::unlink(socket_path(data).c_str());
  ::syscall(SYS_pidfd_send_signal, process.get(), SIGKILL, nullptr, 0);
  if (ends_within(process, kKillMs)) return {};
  return Error{Code::kDeadlineExceeded, "launcher_stays",
               "the launcher did not end in 12 s, though it was killed: the kernel holds it", 0};
}

Result<void> become_launcher(const LauncherOptions& options) {
  return become(arguments_of(options));
}

Result<void> become_holder() { return become({"cay-launcher", "--hold-cgroup"}); }

}  // namespace cay::app
