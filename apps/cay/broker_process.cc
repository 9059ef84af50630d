#include "broker_process.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "command_line.h"
#include "model/sealed_box.h"
#include "os/file.h"
#include "os/unix_socket.h"
#include "role_process.h"
#include "watcher.h"
#include "wire/tlv.h"

namespace cay::app {
namespace {

constexpr uid_t kBrokerUid = 0x70000003;  // beside the daemon's own (data_dir.cc) and the gate's
constexpr const char* kLock = "lock";
constexpr mode_t kDirectoryMode = 0711;  // others reach its sockets, and see nothing
constexpr auto kStopLimit = std::chrono::seconds(10);
constexpr auto kHealthyLife = std::chrono::seconds(5);
constexpr int kMostPauseMs = 2000;
constexpr int kPollMs = 5;
constexpr int kFirstLooks = 400;
constexpr int kRestartLooks = 200;

// A passphrase is no part of it: what stands in a file tells nobody anything of one.
std::string identity_of(vault::Settings settings) {
  for (std::string* one : {&settings.passphrase, &settings.previous_passphrase}) *one = one->empty() ? "" : "set";
  return std::string(CAY_VERSION) + "\n" + wire::encode(settings);
}

Result<UniqueFd> hold_broker(const std::string& data) { return os::connect_unix(data + "/vault/" + vault::kDaemonSocket); }

std::string goes_by(const std::string& data) { return os::read_file(AT_FDCWD, data + "/vault/" + kLock, 1 << 20).value_or(""); }

// True when the daemon is gone; false after `ms` (-1: never), or when `other` has something to say.
bool daemon_ends_within(int other, int ms) {
  pollfd waits[2] = {{kDaemonPipe, POLLIN, 0}, {other, POLLIN, 0}};
  while (::poll(waits, 2, ms) < 0 && errno == EINTR) {
  }
  return waits[0].revents != 0;
}

Result<void> start_broker(const BrokerOptions& options) {
  const UniqueFd log(::open((options.settings.data + "/broker.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log) return Error::from_errno(errno, "open the broker's log");
  const pid_t middle = ::fork();
  if (middle < 0) return Error::from_errno(errno, "fork");
  if (middle == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ::dup2(null.get(), 0);
    ::dup2(log.get(), 1);
    ::dup2(log.get(), 2);
    const Error error = become_broker(options, vault::Life::kWhileNeeded);
    ::_exit(fail("cay broker", error));
  }
  ::waitpid(middle, nullptr, 0);
  return {};
}

[[noreturn]] void watch(const BrokerOptions& options) {
  const std::string& data = options.settings.data;
  for (;;) {
    auto held = hold_broker(data);
    if (held) {
      if (daemon_ends_within(held->get(), -1)) ::_exit(0);
      continue;
    }
    if (!broker_pid(data)) {
      const auto started = start_broker(options);
      if (!started) std::fprintf(stderr, "cay: the broker: %s\n", started.error().message.c_str());
    }
    for (int i = 0; i < kRestartLooks && !held; ++i) {
      if (daemon_ends_within(-1, kPollMs)) ::_exit(0);
      held = hold_broker(data);
    }
  }
}

// Until a signal that ends us, or the end of `worker`; true: go on with another one.
bool wait_for(pid_t worker, int signals, int& code) {
  for (;;) {
    signalfd_siginfo told{};
    if (::read(signals, &told, sizeof told) != static_cast<ssize_t>(sizeof told)) continue;
    const int signal = static_cast<int>(told.ssi_signo);
    if (signal == SIGTERM || signal == SIGINT) {
      ::kill(worker, SIGKILL);
      ::waitpid(worker, nullptr, 0);
      code = 0;
      return false;
    }
    int status = 0;
    if (::waitpid(worker, &status, WNOHANG) != worker) continue;
    if (WIFEXITED(status)) {
      code = WEXITSTATUS(status);
      return false;
    }
    return true;
  }
}

}  // namespace

Result<DaemonUser> broker_user(const std::string& wanted) {
  if (::geteuid() != 0) return DaemonUser{::getuid(), ::getgid(), "you"};
  const std::string name = wanted.empty() ? "cay-broker" : wanted;
  if (const passwd* entry = ::getpwnam(name.c_str()); entry != nullptr) return DaemonUser{entry->pw_uid, entry->pw_gid, name};
  if (!wanted.empty()) return Error{Code::kInvalidArgument, "no_such_user", "there is no user '" + wanted + "'", 0};
  return DaemonUser{kBrokerUid, kBrokerUid, "uid " + std::to_string(kBrokerUid)};
}

// Its keys are there: they stay whose they are.
Result<DaemonUser> broker_user_of(const std::string& data) {
  struct stat info{};
  if (::geteuid() != 0 || ::stat((data + "/vault").c_str(), &info) != 0 || info.st_uid == 0) return broker_user("");
  const passwd* entry = ::getpwuid(info.st_uid);
  return DaemonUser{info.st_uid, entry != nullptr ? entry->pw_gid : static_cast<gid_t>(info.st_uid), "uid " + std::to_string(info.st_uid)};
}

bool broker_is_ours(const std::string& data, const DaemonUser& user) {
  struct stat info{};
  if (::stat((data + "/vault").c_str(), &info) != 0) return true;
  return ::geteuid() == 0 || info.st_uid == user.uid;
}

std::optional<pid_t> broker_pid(const std::string& data) {
  const UniqueFd fd(::open((data + "/vault/" + kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct flock lock = whole_file(F_WRLCK);
  if (!fd || ::fcntl(fd.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return std::nullopt;
  return lock.l_pid;
}

Error become_broker(const BrokerOptions& options, vault::Life life) {
  const auto go = [&]() -> Result<void> {
    CAY_TRY(const UniqueFd data, os::open_dir(AT_FDCWD, options.settings.data));
    CAY_TRY(const UniqueFd directory, os::ensure_dir(data.get(), "vault", options.user.uid, options.user.gid, kDirectoryMode));
    CAY_TRY(const UniqueFd settings, settings_file("cay-broker-settings", wire::encode(options.settings)));
    return exec_role({"cay", "broker", "--data", options.settings.data, "--serve", life == vault::Life::kAlways ? "always" : "while-needed"},
                     {settings.get(), directory.get()}, options.user);
  };
  return go().error();
}

Result<void> stop_broker(const std::string& data) {
  const auto pid = broker_pid(data);
  if (!pid) return {};
  if (::kill(*pid, SIGTERM) != 0 && errno != ESRCH) return Error::from_errno(errno, "end the broker");
  const auto end = std::chrono::steady_clock::now() + kStopLimit;
  while (broker_pid(data) == pid) {
    if (std::chrono::steady_clock::now() > end) return Error{Code::kDeadlineExceeded, "broker_stays", "the broker did not end in 10 s", 0};
    ::poll(nullptr, 0, kPollMs);
  }
  return {};
}

int run_broker_guardian(vault::Life life) {
  ::prctl(PR_SET_NAME, "cay-broker", 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::umask(077);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  const auto complain = [](const std::string& what) {
    std::fprintf(stderr, "cay broker: %s\n", what.c_str());
    return kFailure;
  };
  const UniqueFd lock(::openat(kRoleDirectory, kLock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
  struct flock all = whole_file(F_WRLCK);
  if (!lock || ::fcntl(lock.get(), F_SETLK, &all) != 0) return complain("another broker serves this data directory");
  auto bytes = take_settings();
  auto settings = bytes ? wire::decode<vault::Settings>(*bytes) : std::nullopt;
  if (bytes) wipe(*bytes);
  if (!settings) return complain("its settings cannot be read");
  const std::string identity = identity_of(*settings);
  ::fchmod(lock.get(), 0644);
  if (::ftruncate(lock.get(), 0) == 0) (void)!::pwrite(lock.get(), identity.data(), identity.size(), 0);
  ::fcntl(kRoleDirectory, F_SETFD, FD_CLOEXEC);

  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  const UniqueFd news(::signalfd(-1, &signals, SFD_CLOEXEC));
  if (!news) return complain(std::string("signalfd: ") + std::strerror(errno));
  const pid_t guardian = ::getpid();
  int pause_ms = 0;
  for (;;) {
    const auto born = std::chrono::steady_clock::now();
    const pid_t worker = ::fork();
    if (worker < 0) return complain(std::string("fork: ") + std::strerror(errno));
    if (worker == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != guardian) ::_exit(kFailure);
      ::prctl(PR_SET_NAME, "cay-broker-w", 0, 0, 0);
      ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
      ::_exit(vault::run_broker({*settings, kRoleDirectory, life}));
    }
    int code = 0;
    if (!wait_for(worker, news.get(), code)) return code;
    const bool healthy = std::chrono::steady_clock::now() - born > kHealthyLife;
    pause_ms = healthy ? 0 : std::min(kMostPauseMs, pause_ms * 2 + 10);
    std::fprintf(stderr, "cay broker: the part that serves died; another begins in %d ms\n", pause_ms);
    ::poll(nullptr, 0, pause_ms);
  }
}

Result<UniqueFd> watch_broker(const BrokerOptions& options) {
  const std::string& data = options.settings.data;
  if (broker_pid(data) && goes_by(data) != identity_of(options.settings)) {
    std::fprintf(stderr, "cay: the broker goes by other settings, or is of another release: it is replaced\n");
    CAY_CHECK(stop_broker(data));
  }
  if (!broker_pid(data)) { CAY_CHECK(start_broker(options)); }
  Result<UniqueFd> held;
  for (int i = 0; i < kFirstLooks && !(held = hold_broker(data)); ++i) ::poll(nullptr, 0, kPollMs);
  if (!held) {
    std::fprintf(stderr, "cay: the broker, which keeps secrets, does not answer yet (%s); its last words are in %s/broker.log\n", held.error().message.c_str(), data.c_str());
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "make a pipe for the broker's watcher");
  UniqueFd theirs(ends[0]);
  UniqueFd ours(ends[1]);
  const pid_t pid = ::fork();
  if (pid < 0) return Error::from_errno(errno, "fork the broker's watcher");
  if (pid > 0) return ours;
  ::setsid();  // a Ctrl-C is for the daemon, whose end is ours
  become_watcher("cay-watch-brok", std::move(theirs));
  watch(options);
}

}  // namespace cay::app
