#include "gate_process.h"

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "command_line.h"
#include "gate/keeper_dialer.h"
#include "launcher/gate_directory.h"
#include "launcher/sha256.h"
#include "launcher_process.h"
#include "os/file.h"
#include "os/process.h"
#include "os/unix_socket.h"
#include "role_process.h"
#include "wire/tlv.h"

namespace cay::app {
namespace {

constexpr uid_t kGateUid = 0x70000002;  // beside the daemon's own (data_dir.cc)
constexpr int kDirectory = kRoleDirectory;
constexpr int kRules = kRoleDirectory + 1;
constexpr const char* kLock = "lock";
constexpr auto kStopLimit = std::chrono::seconds(10);
constexpr auto kHealthyLife = std::chrono::seconds(5);
constexpr int kMostPauseMs = 2000;
constexpr int kPollMs = 5;

// Until a signal that ends us, or the end of `worker`; true: go on with another one. Meanwhile it is connected to the
// keepers that it asks for.
bool wait_for(pid_t worker, int signals, UniqueFd asks, int& code) {
  for (;;) {
    pollfd waits[2] = {{signals, POLLIN, 0}, {asks.get(), POLLIN, 0}};
    if (::poll(waits, 2, -1) < 0) continue;
    if (waits[1].revents != 0 && !gate::answer_dial(asks.get(), kDirectory)) {
      // It ends, or would go on without reaching another keeper: then another one is to begin. What it ended with by itself stays.
      ::kill(worker, SIGKILL);
      asks = UniqueFd();
    }
    signalfd_siginfo told{};
    if (waits[0].revents == 0 || ::read(signals, &told, sizeof told) != static_cast<ssize_t>(sizeof told)) continue;
    const int signal = static_cast<int>(told.ssi_signo);
    if (signal == SIGTERM || signal == SIGINT) {
      ::kill(worker, SIGKILL);
      ::waitpid(worker, nullptr, 0);
      code = 0;
      return false;
    }
    int status = 0;
    if (::waitpid(worker, &status, WNOHANG) != worker) continue;
    // It ended by itself: it is not needed, or cannot work with these settings.
    if (WIFEXITED(status)) {
      code = WEXITSTATUS(status);
      return false;
    }
    return true;
  }
}

}  // namespace

Result<DaemonUser> gate_user(const std::string& wanted) {
  if (::geteuid() != 0) return DaemonUser{::getuid(), ::getgid(), "you"};
  const std::string name = wanted.empty() ? "cay-gate" : wanted;
  if (const passwd* entry = ::getpwnam(name.c_str()); entry != nullptr) return DaemonUser{entry->pw_uid, entry->pw_gid, name};
  if (!wanted.empty()) return Error{Code::kInvalidArgument, "no_such_user", "there is no user '" + wanted + "'", 0};
  return DaemonUser{kGateUid, kGateUid, "uid " + std::to_string(kGateUid)};
}

Result<DaemonUser> gate_user_of(const std::string& data) {
  struct stat info{};
  const bool there = ::geteuid() == 0 && ::stat((data + "/gate").c_str(), &info) == 0 && info.st_uid != 0;
  if (!there || (!launcher_answers(data) && !gate_pid(data))) return gate_user("");
  const passwd* entry = ::getpwuid(info.st_uid);
  return DaemonUser{info.st_uid, entry != nullptr ? entry->pw_gid : static_cast<gid_t>(info.st_uid), "uid " + std::to_string(info.st_uid)};
}

Result<UniqueFd> hold_gate(const std::string& data) { return os::connect_unix(data + "/gate/gate.sock"); }

// It lies in a file: a password is told by its digest alone.
std::string gate_identity(const gate::Settings& settings) {
  gate::Settings told = settings;
  if (!told.proxy.authorization.empty()) told.proxy.authorization = launcher::sha256_hex(told.proxy.authorization);
  return std::string(CAY_VERSION) + "\n" + wire::encode(told);
}

std::optional<pid_t> gate_pid(const std::string& data) {
  const UniqueFd fd(::open((data + "/gate/" + kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  struct flock lock = whole_file(F_WRLCK);
  if (!fd || ::fcntl(fd.get(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return std::nullopt;
  return lock.l_pid;
}

Error become_gate(const GateOptions& options, gate::Life life) {
  const auto go = [&]() -> Result<void> {
    CAY_TRY(const UniqueFd data, os::open_dir(AT_FDCWD, options.settings.data));
    CAY_TRY(const UniqueFd directory, launcher::open_gate_directory(data.get(), options.user.uid, options.daemon_gid));
    CAY_TRY(const UniqueFd rules, launcher::open_rules_directory(data.get(), options.user.gid));
    CAY_TRY(const UniqueFd settings, settings_file("cay-gate-settings", wire::encode(options.settings)));
    return exec_role({"cay", "gate", "--data", options.settings.data, "--serve", life == gate::Life::kAlways ? "always" : "while-needed"},
                     {settings.get(), directory.get(), rules.get()}, options.user);
  };
  return go().error();
}

Result<void> start_gate(const GateOptions& options) {
  const UniqueFd log(::open((options.settings.data + "/gate.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log) return Error::from_errno(errno, "open the gate's log");
  const pid_t middle = ::fork();
  if (middle < 0) return Error::from_errno(errno, "fork");
  if (middle == 0) {
    ::setsid();
    if (::fork() != 0) ::_exit(0);
    const UniqueFd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    ::dup2(null.get(), 0);
    ::dup2(log.get(), 1);
    ::dup2(log.get(), 2);
    const Error error = become_gate(options, gate::Life::kWhileNeeded);
    ::_exit(fail("cay gate", error));
  }
  ::waitpid(middle, nullptr, 0);
  return {};
}

Result<void> stop_gate(const std::string& data) {
  const auto pid = gate_pid(data);
  if (!pid) return {};
  if (::kill(*pid, SIGTERM) != 0 && errno != ESRCH) return Error::from_errno(errno, "end the gate");
  const auto end = std::chrono::steady_clock::now() + kStopLimit;
  while (gate_pid(data) == pid) {
    if (std::chrono::steady_clock::now() > end) return Error{Code::kDeadlineExceeded, "gate_stays", "the gate did not end in 10 s", 0};
    ::poll(nullptr, 0, kPollMs);
  }
  return {};
}

int run_gate_guardian(gate::Life life) {
  ::prctl(PR_SET_NAME, "cay-gate", 0, 0, 0);
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::umask(027);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  const auto complain = [](const std::string& what) {
    std::fprintf(stderr, "cay gate: %s\n", what.c_str());
    return kFailure;
  };
  const UniqueFd lock(::openat(kDirectory, kLock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640));
  struct flock all = whole_file(F_WRLCK);
  if (!lock || ::fcntl(lock.get(), F_SETLK, &all) != 0) return complain("another gate serves this data directory");
  const auto bytes = take_settings();
  auto settings = bytes ? wire::decode<gate::Settings>(*bytes) : std::nullopt;
  if (!settings) return complain("its settings cannot be read");
  // Where it cannot be written, the next `cay serve` takes this gate for another and replaces it: no harm but to what is open.
  const std::string identity = gate_identity(*settings);
  ::fchmod(lock.get(), 0640);  // of a former release it was 0600, and the daemon's group is to read it
  if (::ftruncate(lock.get(), 0) == 0) (void)!::pwrite(lock.get(), identity.data(), identity.size(), 0);
  ::fcntl(kDirectory, F_SETFD, FD_CLOEXEC);
  ::fcntl(kRules, F_SETFD, FD_CLOEXEC);

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
    auto dialling = os::socket_pair();
    if (!dialling) return complain(dialling.error().message);
    const pid_t worker = ::fork();
    if (worker < 0) return complain(std::string("fork: ") + std::strerror(errno));
    if (worker == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != guardian) ::_exit(kFailure);
      ::prctl(PR_SET_NAME, "cay-gate-w", 0, 0, 0);
      ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
      dialling->ours = UniqueFd();
      ::_exit(gate::run_gate({*settings, kDirectory, kRules, life, dialling->theirs.release()}));
    }
    dialling->theirs = UniqueFd();
    ::fcntl(dialling->ours.get(), F_SETFL, O_NONBLOCK);  // a worker that takes no answers must not hold us up
    int code = 0;
    if (!wait_for(worker, news.get(), std::move(dialling->ours), code)) return code;
    const bool healthy = std::chrono::steady_clock::now() - born > kHealthyLife;
    pause_ms = healthy ? 0 : std::min(kMostPauseMs, pause_ms * 2 + 10);
    std::fprintf(stderr, "cay gate: the part that serves died; another begins in %d ms\n", pause_ms);
    ::poll(nullptr, 0, pause_ms);
  }
}

}  // namespace cay::app
