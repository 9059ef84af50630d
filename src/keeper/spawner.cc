#include "keeper/spawner.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/assert.h"
#include "keeper/filter_room.h"

namespace cay::keeper {
namespace {

constexpr std::uint32_t kCells = 1024;     // starts in flight at once
constexpr std::int64_t kFirstLookMs = 20;  // a start takes well under a millisecond
constexpr std::int64_t kPatienceMs =
    5000;  // a loaded host may be slow; a stopped child never comes
constexpr int kTries = 3;

std::vector<char*> pointers(std::vector<std::string>& strings, std::size_t spare) {
  std::vector<char*> out;
  out.reserve(strings.size() + spare + 1);
  for (auto& text : strings) out.push_back(text.data());
  out.resize(strings.size() + spare + 1, nullptr);
  return out;
}

// Forks into the slot's v2 group where that is possible, and gives the child the other groups to
// join. A join of a v2 group waits for a grace period of RCU, some milliseconds (slots.cc). A
// second try joins it all the same: it may have been the kernel that killed the first.
pid_t fork_into(const Slot& slot, int tries, ChildPlan& plan) {
  const std::vector<int>& joins = slot.joins();
  plan.joins = joins.data();
  plan.join_count = static_cast<int>(joins.size());
  if (slot.clone_into() < 0 || tries > 0) return ::fork();
  ++plan.joins;
  --plan.join_count;
  clone_args args{};
  args.flags = CLONE_INTO_CGROUP;
  args.exit_signal = SIGCHLD;
  args.cgroup = static_cast<std::uint64_t>(slot.clone_into());
  const long pid = ::syscall(SYS_clone3, &args, sizeof args);
  if (pid >= 0 || errno == EAGAIN || errno == ENOMEM) return static_cast<pid_t>(pid);
  --plan.joins;
  ++plan.join_count;
  return ::fork();
}

// The limit of processes, or of memory for one.
bool is_no_room(const StartReport& report) {
  return std::string_view(report.step) == "clone" && (report.err == EAGAIN || report.err == ENOMEM);
}

}  // namespace

struct Spawner::Attempt {
  Program program;
  Slot* slot = nullptr;
  OnStarted on_started;
  int tries = 0;
  std::int64_t began = 0;
  std::uint32_t cell = 0;
  bool has_cell = false;
  pid_t entering = 0;         // E, until reaped
  bool by_zygote = false;     // there is no E
  bool reported_end = false;  // the status pipe is at its end
  bool aborted = false;
  StartReport report;   // the last one
  std::size_t got = 0;  // bytes of the next one
  char partial[sizeof(StartReport)];
  std::optional<Exit> exit;  // C's, if it ended meanwhile
  pid_t child = 0;
  UniqueFd status;
  Watch watch;
  Timer timer;
};

Spawner::Spawner(Loop& loop, Reaper& reaper, const Context& context, const Slots& slots)
    : loop_(loop),
      reaper_(reaper),
      context_(context),
      changed_signals_(changed_signals()),
      zygote_(loop, reaper, context, slots, changed_signals_) {
  void* shared = ::mmap(nullptr, kCells * sizeof(pid_t), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CAY_ASSERT(shared != MAP_FAILED);
  cells_ = static_cast<pid_t*>(shared);
  for (std::uint32_t i = kCells; i-- > 0;) free_cells_.push_back(i);
  reaper_.set_resolver([this](pid_t pid) { resolve(pid); });
  loop_.defer([this] { zygote_.prepare(); });
}

Spawner::~Spawner() = default;

void Spawner::start(Program program, Slot& slot, OnStarted on_started) {
  auto attempt = std::make_unique<Attempt>();
  attempt->program = std::move(program);
  attempt->slot = &slot;
  attempt->on_started = std::move(on_started);
  Attempt& ref = *attempt;
  attempts_.push_back(std::move(attempt));
  Attempt* self = &ref;
  if (auto error = launch(ref)) {  // from the loop: start() never calls back before it returned
    loop_.defer([this, self, failed = std::move(*error)] { finish(*self, failed); });
  }
}

std::optional<Error> Spawner::launch(Attempt& attempt) {
  attempt.began = monotonic_ms();
  attempt.report = {};
  attempt.got = 0;
  attempt.exit.reset();
  attempt.child = 0;
  attempt.reported_end = false;
  int ends[2];
  if (!attempt.has_cell && free_cells_.empty()) {
    return Error{Code::kExhausted, "too_many_starts",
                 "too many commands are being started at once: retry", 0};
  }
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Error::from_errno(errno, "make a pipe for the start", "start_failed");
  }
  attempt.status.reset(ends[0]);
  UniqueFd write_end(ends[1]);
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  if (!attempt.has_cell) {
    attempt.cell = free_cells_.back();
    free_cells_.pop_back();
    attempt.has_cell = true;
  }
  cells_[attempt.cell] = 0;

  Program& program = attempt.program;
  std::vector<char*> argv = pointers(program.argv, 0);
  std::vector<char*> env = pointers(program.env, kSpareEnv);
  ChildPlan plan;
  plan.init_pidfd = context_.init_pidfd;
  plan.own_clocks = context_.own_clocks;
  plan.changed_signals = changed_signals_;
  plan.profile = context_.profile;
  plan.cpus = static_cast<unsigned>(context_.cpus.size());
  plan.pid_cell = &cells_[attempt.cell];
  plan.status_fd = write_end.get();
  std::copy(std::begin(program.stdio), std::end(program.stdio), std::begin(plan.stdio));
  plan.terminal = program.terminal;
  plan.line_fd = program.line_fd;
  plan.user = program.user.c_str();
  plan.cwd = program.cwd.c_str();
  plan.die_with_keeper = context_.init_pidfd < 0;  // inside, the lifeline does this
  plan.argv = argv.data();
  plan.env = env.data();
  plan.env_count = static_cast<int>(program.env.size());
  plan.task = program.task;
  plan.task_data = program.task_data;
  plan.task_fd = program.task_fd;
  plan.layer_root_fd = program.layer_root_fd;

  Attempt* self = &attempt;
  attempt.by_zygote =
      attempt.tries == 0 && program.task == nullptr && zygote_.start(plan, *attempt.slot);
  if (!attempt.by_zygote) {
    const pid_t pid = fork_into(*attempt.slot, attempt.tries, plan);
    if (pid == 0) enter(plan);
    if (pid < 0) {
      return Error::from_errno(errno, "fork the child that enters the sandbox", "start_failed");
    }
    attempt.entering = pid;
    reaper_.expect(pid, [this, self](const Exit&) {
      self->entering = 0;
      settle(*self);
    });
  }
  write_end.reset();
  // Its end alone wakes the keeper, which epoll always reports. The reports before it are read
  // then, or at the deadline.
  attempt.watch =
      loop_.watch(attempt.status.get(), 0, [this, self](std::uint32_t) { on_status(*self); });
  attempt.timer = loop_.after(kFirstLookMs, [this, self] { on_deadline(*self); });
  return std::nullopt;
}

bool Spawner::read_status(Attempt& attempt) {
  while (attempt.status) {
    const ssize_t got = ::read(attempt.status.get(), attempt.partial + attempt.got,
                               sizeof attempt.partial - attempt.got);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return false;
    if (got == 0) break;
    attempt.got += static_cast<std::size_t>(got);
    if (attempt.got < sizeof attempt.partial) continue;
    std::memcpy(&attempt.report, attempt.partial, sizeof attempt.report);
    attempt.report.step[sizeof attempt.report.step - 1] = '\0';
    attempt.report.home[sizeof attempt.report.home - 1] = '\0';
    attempt.got = 0;
  }
  return true;
}

void Spawner::on_status(Attempt& attempt) {
  if (read_status(attempt)) hear_no_more(attempt);
}

void Spawner::hear_no_more(Attempt& attempt) {
  attempt.reported_end = true;
  attempt.watch.reset();
  attempt.status.reset();
  settle(attempt);
}

// Both the pipe's end and E's end are in: the try is decided.
void Spawner::settle(Attempt& attempt) {
  if (!attempt.reported_end || attempt.entering != 0) return;
  attempt.timer.reset();
  if (attempt.by_zygote) zygote_.over();
  const pid_t child =
      attempt.child != 0 ? attempt.child : *static_cast<volatile pid_t*>(&cells_[attempt.cell]);
  // Ready is its last word before exec: from there on it may have run, so it counts as started
  // whatever became of it. To start it again, or to say that it never was, would be a guess.
  if (attempt.report.kind == StartReport::kReady && child != 0) {
    if (!attempt.exit) reaper_.forget(child);
    Started started;
    started.pid = child;
    started.guest_pid = attempt.report.guest_pid;
    started.home = attempt.report.home;
    started.uid = attempt.report.uid;
    started.exit = attempt.exit;
    finish(attempt, std::move(started));
    return;
  }
  if (child != 0 && !attempt.exit) {
    ::kill(child,
           SIGKILL);  // it ends by itself after a report; one that did not report must not linger
    reaper_.expect(child, [](const Exit&) {});
  }
  if (attempt.report.kind == StartReport::kFailed && !attempt.aborted) {
    if (attempt.by_zygote && is_no_room(attempt.report)) {
      zygote_.make_room();
      return replace(attempt);
    }
    finish(attempt, failure(attempt));
  } else {
    replace(attempt);
  }
}

// A try came to nothing without a reason of its own: the guest killed or stopped the child, or the
// kernel did for memory.
void Spawner::replace(Attempt& attempt) {
  if (attempt.aborted) {
    finish(attempt, Error{Code::kUnavailable, "shutting_down", "the sandbox is being stopped", 0});
  } else if (attempt.slot->oom_kills() > 0) {
    finish(attempt,
           Error{Code::kExhausted, "memory_limit",
                 "the sandbox is out of memory: nothing can be started in it until some is freed",
                 ENOMEM});
  } else if (++attempt.tries >= kTries) {
    finish(attempt, Error{Code::kUnavailable, "start_interfered",
                          "processes inside the sandbox stop or kill every command before it "
                          "begins: end them, or "
                          "restart the sandbox",
                          0});
  } else if (auto error = launch(attempt)) {
    finish(attempt, std::move(*error));
  }
}

void Spawner::on_deadline(Attempt& attempt) {
  const pid_t child =
      attempt.child != 0 ? attempt.child : *static_cast<volatile pid_t*>(&cells_[attempt.cell]);
  const bool stopped = child != 0 && !attempt.exit && is_stopped(child);
  // A program that runs and stopped itself is no failed start, and must not be started again: the
  // news of its exec may still wait behind other events.
  if (attempt.reported_end) return;
  if (read_status(attempt)) return hear_no_more(attempt);
  if (stopped && attempt.report.kind == StartReport::kReady) {
    return hear_no_more(
        attempt);  // stopped between its last word and exec: the guest's to let go on
  }
  if (stopped || monotonic_ms() - attempt.began > kPatienceMs) {
    if (child != 0 && !attempt.exit) ::kill(child, SIGKILL);
    if (attempt.entering != 0) ::kill(attempt.entering, SIGKILL);
    if (attempt.by_zygote && child == 0) zygote_.kill();
  }
  Attempt* self = &attempt;
  attempt.timer = loop_.after(kFirstLookMs, [this, self] { on_deadline(*self); });
}

void Spawner::resolve(pid_t pid) {
  for (const auto& attempt : attempts_) {
    if (!attempt->has_cell || *static_cast<volatile pid_t*>(&cells_[attempt->cell]) != pid)
      continue;
    Attempt* self = attempt.get();
    self->child = pid;
    reaper_.expect(pid, [self](const Exit& exit) { self->exit = exit; });
    return;
  }
}

void Spawner::finish(Attempt& attempt, Result<Started> result) {
  if (attempt.has_cell) {
    cells_[attempt.cell] = 0;
    free_cells_.push_back(attempt.cell);
  }
  const auto found =
      std::find_if(attempts_.begin(), attempts_.end(),
                   [&attempt](const auto& other) { return other.get() == &attempt; });
  const std::unique_ptr<Attempt> gone = std::move(*found);
  attempts_.erase(found);
  if (result && on_any_started_) on_any_started_();
  gone->on_started(std::move(result));
  if (gone->program.task == nullptr) loop_.when_free([this] { zygote_.prepare(); });
}

void Spawner::abort_all() {
  for (const auto& attempt : attempts_) {
    attempt->aborted = true;
    const pid_t child = attempt->child != 0 ? attempt->child
                                            : *static_cast<volatile pid_t*>(&cells_[attempt->cell]);
    if (child != 0 && !attempt->exit) ::kill(child, SIGKILL);
    if (attempt->entering != 0) ::kill(attempt->entering, SIGKILL);
    if (attempt->by_zygote && child == 0) zygote_.kill();
  }
}

Error Spawner::failure(const Attempt& attempt) const {
  const int err = attempt.report.err;
  const std::string_view step = attempt.report.step;
  const std::string why = std::strerror(err);
  const Program& program = attempt.program;
  if (step == "user") {
    return {Code::kInvalidArgument, "bad_user",
            "no user \"" + program.user + "\" in the sandbox's /etc/passwd and /etc/group", err};
  }
  // The kernel's word for an id that the user namespace does not map.
  if ((step == "set uid" || step == "set gid" || step == "set groups") && err == EINVAL) {
    return {Code::kInvalidArgument, "bad_user",
            "user \"" + program.user +
                "\" has a uid or gid that does not exist in a sandbox: they go from 0 to 65535",
            err};
  }
  if (step == "cwd") {
    const std::string where = program.cwd.empty() ? "the user's home directory and /"
                                                  : "working directory \"" + program.cwd + "\"";
    return {Code::kInvalidArgument, "bad_cwd", where + ": " + why, err};
  }
  if (step == "exec") {
    const std::string name = program.argv.empty() ? std::string() : program.argv.front();
    if (err == ENOENT || err == ENOTDIR) {
      return {Code::kInvalidArgument, "command_not_found",
              "\"" + name + "\": command not found in the sandbox", err};
    }
    if (err == EACCES || err == ENOEXEC || err == EPERM) {
      return {Code::kInvalidArgument, "not_executable",
              "\"" + name + "\" cannot be executed: " + why, err};
    }
    if (err == E2BIG) {
      return {Code::kInvalidArgument, "arguments_too_long",
              "the command's arguments and environment are longer than this host takes: upload "
              "them as a file",
              err};
    }
    return {Code::kInternal, "start_failed", "execute \"" + name + "\": " + why, err};
  }
  if (step == "terminal") return Error::from_errno(err, "open a terminal", "start_failed");
  if (step == "load seccomp") return no_filter_room();
  if (step == "clone" && err == EAGAIN) {
    return {Code::kExhausted, "pids_limit",
            "the sandbox's limit of processes is reached: end some of them", err};
  }
  return {Code::kInternal, "start_failed",
          "start a process in the sandbox, " + std::string(step) + ": " + why, err};
}

}  // namespace cay::keeper
