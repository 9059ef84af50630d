#include "keeper/command.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "keeper/command_state.h"
#include "keeper/long_arguments.h"
#include "keeper/stats.h"
#include "keeper/terminal.h"
#include "keeper/tracer.h"

namespace cay::keeper {
namespace {

constexpr std::int64_t kSaveRetryMs = 1000;
constexpr std::int64_t kChaseMs = 200;  // a killed process that nobody holds is reaped long before
// Background children that hold the output delay the end by this at most. Their output until then
// belongs to the result.
constexpr std::int64_t kLateOutputMs = 150;

Result<std::pair<UniqueFd, UniqueFd>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return Error::from_errno(errno, "make a pipe", "start_failed");
  return std::make_pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

void set_nonblocking(const UniqueFd& fd) {
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

std::uint64_t micros(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_usec);
}

}  // namespace

Result<void> Command::begin(wire::StartCommand request) {
  id_ = request.command_id;
  pty_ = request.pty;
  timeout_ms_ = request.timeout_ms;
  idle_timeout_ms_ = request.idle_timeout_ms;
  kill_on_disconnect_ = request.kill_on_disconnect;
  close_stdin_ = request.close_stdin;
  end_tree_ = request.end_tree;
  rows_ = request.rows;
  cols_ = request.cols;

  wire::CommandMsg record;
  record.command_id = request.command_id;
  record.digest = request.digest;
  record.argv = request.argv;
  record.argv_truncated = shorten(record.argv);
  record.pty = request.pty;
  record.started_at = wall_ms();
  record.cwd = request.cwd;
  record.user = request.user;
  record.timeout_ms = request.timeout_ms;
  record.witness = shop_.context.witness;
  record.ttl_ms = request.ttl_ms;
  record.boot_id = shop_.context.boot_id;
  record.mark = request.mark;

  Program program;
  if (request.shell_line) {
    CAY_TRY(auto line, put_line_into_file(request.argv));
    program.line_fd = line.get();
    child_ends_.push_back(std::move(line));
  }
  if (pty_) {
    CAY_CHECK(make_terminal(program));
  } else {
    CAY_CHECK(make_pipes(program));
  }
  int error = 0;
  slot_ = shop_.slots.take(error);
  if (slot_ == nullptr)
    return Error::from_errno(error, "make a cgroup for the command", "start_failed");
  victims_at_start_ = shop_.oom_victims.count();
  const std::uint64_t limit =
      request.spool_limit > 0 ? request.spool_limit : shop_.context.default_spool_limit;
  auto tape = Tape::create(shop_.context.spool_fd, std::move(record), limit, request.disk_reserve,
                           &shop_.spool_budget);
  if (!tape) {
    shop_.slots.release_now(std::exchange(slot_, nullptr));
    return std::move(tape).error();
  }
  tape_ = *std::move(tape);
  program.argv = std::move(request.argv);
  program.env = std::move(request.env);
  program.user = std::move(request.user);
  program.cwd = std::move(request.cwd);
  shop_.spawner.start(std::move(program), *slot_,
                      [this](Result<Started> result) { on_start_result(std::move(result)); });
  return {};
}

Result<void> Command::make_pipes(Program& program) {
  CAY_TRY(auto in, make_pipe());
  CAY_TRY(auto out, make_pipe());
  CAY_TRY(auto err, make_pipe());
  for (const UniqueFd* ours : {&in.second, &out.first, &err.first}) set_nonblocking(*ours);
  program.stdio[0] = in.first.get();
  program.stdio[1] = out.second.get();
  program.stdio[2] = err.second.get();
  // A stdin that is closed from the start is a pipe at its end: /dev/null would be another file.
  if (!close_stdin_) stdin_end_ = std::move(in.second);
  out_end_ = std::move(out.first);
  err_end_ = std::move(err.first);
  child_ends_.push_back(std::move(in.first));
  child_ends_.push_back(std::move(out.second));
  child_ends_.push_back(std::move(err.second));
  return {};
}

Result<void> Command::make_terminal(Program& program) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error::from_errno(errno, "make a socket for the terminal", "start_failed");
  }
  terminal_end_.reset(ends[0]);
  child_ends_.push_back(UniqueFd(ends[1]));
  program.terminal = {
      .socket = ends[1], .devpts = shop_.context.devpts_fd, .rows = rows_, .cols = cols_};
  return {};
}

Result<void> Command::take_terminal() {
  CAY_TRY(out_end_, receive_terminal(terminal_end_.get()));
  terminal_end_.reset();
  stdin_end_.reset(::fcntl(out_end_.get(), F_DUPFD_CLOEXEC, 0));
  return {};
}

void Command::on_start_result(Result<Started> result) {
  child_ends_.clear();
  if (auto took = result && pty_ ? take_terminal() : Result<void>(); !took) {
    // It runs already, and nobody could read or end it.
    if (slot_->can_kill()) slot_->kill_all();
    if (!result->exit) {
      ::kill(result->pid, SIGKILL);
      shop_.reaper.expect(result->pid, [](const Exit&) {});
    }
    result = std::move(took).error();
  }
  if (!result) {
    Tape::erase(shop_.context.spool_fd, id_);
    shop_.slots.release_when_empty(std::exchange(slot_, nullptr), [] {});
    events_.on_started(*this, std::move(result).error());
    return;
  }
  Started& started = *result;
  state_ = State::kRunning;
  pid_ = started.pid;
  tape_->about.pid = started.guest_pid;
  if (tape_->about.cwd.empty()) tape_->about.cwd = started.home;
  const auto on_bytes = [this](bool layout_changed) {
    if (layout_changed) tape_->save();
    events_.on_output(*this);
  };
  const auto on_eof = [this] { shop_.loop.defer([this] { this->on_eof(); }); };
  out_ =
      std::make_unique<OutputPipe>(shop_.loop, std::move(out_end_), tape_->out, on_bytes, on_eof);
  if (!pty_)
    err_ =
        std::make_unique<OutputPipe>(shop_.loop, std::move(err_end_), tape_->err, on_bytes, on_eof);
  stdin_ = std::make_unique<StdinPipe>(shop_.loop, shop_.outbox, shop_.stdin_budget,
                                       std::move(stdin_end_), pty_);
  if (timeout_ms_ > 0) {
    timeout_.start(
        shop_.loop, timeout_ms_, [this] { kill_tree(Cause::kTimeout, {}); }, clocks_stopped_);
  }
  arm_idle();
  if (!started.exit) shop_.reaper.expect(pid_, [this](const Exit& exit) { on_exit(exit); });
  events_.on_started(*this, {});
  if (started.exit) {
    on_exit(*started.exit);
  } else if (cause_ != Cause::kNone) {
    kill_tree(cause_, by_);
  }
}

void Command::kill_at_start(const std::string& by) {
  cause_ = Cause::kRequest;
  by_ = by;
  oom_at_kill_ = slot_->oom_kills();
}

void Command::signal_leader(int signal) {
  if (::kill(-pid_, signal) != 0) ::kill(pid_, signal);
}

void Command::kill_tree(Cause cause, const std::string& by) {
  // A leader that is dead already, though not reaped yet, was not killed by this.
  if (state_ == State::kRunning && cause_ == Cause::kNone && !has_ended(pid_)) {
    cause_ = cause;
    by_ = by;
    oom_at_kill_ = slot_->oom_kills();
  }
  if (slot_ != nullptr && slot_->can_kill()) {
    slot_->kill_all();
  } else {
    signal_leader(SIGKILL);
  }
  if (state_ != State::kRunning) return;
  ::kill(pid_, SIGKILL);
  if (chasing_) return;
  chasing_ = true;
  chase_ = shop_.loop.after(kChaseMs, [this] { chase_end(); });
}

void Command::chase_end() {
  if (state_ != State::kRunning) return;
  kill_tracer_of_dead(shop_.context.root_fd, static_cast<pid_t>(tape_->about.pid));
  chase_ = shop_.loop.after(kChaseMs, [this] { chase_end(); });
}

Result<void> Command::kill(int signal, const std::string& by) {
  if (signal < 0 || signal > 64) {
    return Error{Code::kInvalidArgument, "bad_signal",
                 "a signal is a number from 1 to 64, or 0 for the whole tree", 0};
  }
  if (signal == 0) {
    kill_tree(Cause::kRequest, by);
    return {};
  }
  if (state_ == State::kLingering || state_ == State::kEnded) {
    bool any = false;
    for (const pid_t pid : slot_ != nullptr ? slot_->pids() : std::vector<pid_t>{}) {
      const UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
      // Another process may have this number by now, so the group is read again.
      const auto now = slot_->pids();
      if (!handle || std::find(now.begin(), now.end(), pid) == now.end()) continue;
      any |= ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0;
    }
    if (any) return {};
    return Error{Code::kNotReady, "command_ended", "the command has ended", 0};
  }
  if (!has_ended(pid_)) {
    const auto same = [signal](const auto& sent) { return sent.first == signal; };
    if (std::none_of(sent_.begin(), sent_.end(), same)) sent_.emplace_back(signal, by);
  }
  signal_leader(signal);
  return {};
}

Result<void> Command::resize(std::uint16_t rows, std::uint16_t cols) {
  if (!pty_) return Error{Code::kNotReady, "no_terminal", "the command has no terminal", 0};
  if (state_ == State::kEnded || !out_->is_open()) {
    return Error{Code::kNotReady, "command_ended", "the command has ended", 0};
  }
  set_terminal_size(out_->fd(), rows, cols);
  return {};
}

void Command::reader_came() {
  ++readers_;
  orphaned_ = false;
  idle_.reset();
  orphan_.reset();
}

void Command::reader_left(bool orphaned) {
  --readers_;
  if (state_ != State::kRunning || readers_ > 0) return;
  arm_idle();
  if (!kill_on_disconnect_) return;
  if (orphaned) {
    orphaned_ = true;
  } else {
    kill_tree(Cause::kRequest, "disconnect");
  }
}

void Command::daemon_left() {
  orphan_.reset();
  if (state_ == State::kRunning && stdin_->is_cut_short()) kill_tree(Cause::kInputLost, {});
}

void Command::daemon_returned() {
  if (!orphaned_ || state_ != State::kRunning || readers_ > 0) return;
  orphan_ = shop_.loop.after(shop_.context.orphan_grace_ms,
                             [this] { kill_tree(Cause::kRequest, "disconnect"); });
}

void Command::arm_idle() {
  if (idle_timeout_ms_ <= 0 || readers_ > 0) return;
  idle_.start(
      shop_.loop, idle_timeout_ms_, [this] { kill_tree(Cause::kIdle, {}); }, clocks_stopped_);
}

void Command::stop_clocks() {
  clocks_stopped_ = true;
  timeout_.pause();
  idle_.pause();
}

void Command::run_clocks() {
  clocks_stopped_ = false;
  timeout_.resume();
  idle_.resume();
}

void Command::classify(const Exit& exit, wire::CommandMsg& record) {
  const auto set = [&record](CommandState state) {
    record.state = static_cast<std::uint8_t>(state);
  };
  record.oom_kills = slot_->oom_kills();
  if (!exit.signalled) {
    set(CommandState::kExited);
    record.exit_code = exit.value;
    return;
  }
  record.signal = exit.value;
  set(CommandState::kSignalled);
  if (exit.value == SIGKILL) {
    const Fate fate = record.oom_kills == 0
                          ? Fate::kSpared
                          : shop_.oom_victims.fate_of(
                                {.pid = pid_,
                                 .group = slot_->id(),
                                 .since = victims_at_start_,
                                 .kills_before = slot_->oom_kills_before(),
                                 .kills_now = slot_->oom_kills_before() + record.oom_kills});
    if (fate == Fate::kVictim) return set(CommandState::kOomKilled);
    // The leader was alive when our signal was sent. If the kernel does not name its victim, a kill
    // for memory since then leaves a doubt, and then the group's count is believed.
    const bool ours =
        cause_ != Cause::kNone && (fate == Fate::kSpared || record.oom_kills == oom_at_kill_);
    if (ours && cause_ == Cause::kTimeout) return set(CommandState::kTimedOut);
    if (ours && cause_ == Cause::kIdle) return set(CommandState::kIdleKilled);
    if (ours && cause_ == Cause::kInputLost) {
      record.signal = 0;
      record.reason =
          "input lost: the daemon ended before all of the command's input was written, so it was "
          "ended";
      return set(CommandState::kLost);
    }
    if (ours) {
      record.by = by_;
      return set(CommandState::kKilled);
    }
    if (fate == Fate::kUnknown) return set(CommandState::kOomKilled);
  }
  for (const auto& [signal, by] : sent_) {
    if (signal != exit.value) continue;
    record.by = by;
    return set(CommandState::kKilled);
  }
}

void Command::on_exit(const Exit& exit) {
  timeout_.reset();
  idle_.reset();
  orphan_.reset();
  chase_.reset();
  out_->drain();
  if (err_) err_->drain();
  state_ = State::kLingering;
  end_ = tape_->about;
  classify(exit, end_);
  end_.ended_at = wall_ms();
  end_.ended_boot_ms = boottime_ms();
  end_.cpu_usec = micros(exit.usage.ru_utime) + micros(exit.usage.ru_stime);
  end_.max_rss_bytes = static_cast<std::uint64_t>(exit.usage.ru_maxrss) * 1024;
  if (end_.oom_kills > 0) end_.tmpfs_bytes = bytes_in_tmpfs(shop_.context);
  stdin_->close();
  // A tree that is killed writes no more, and a terminal was hung up with its leader's end.
  if (!has_writers() || cause_ != Cause::kNone || end_tree_ || pty_) return finish();
  linger_ = shop_.loop.after(kLateOutputMs, [this] { finish(); });
}

void Command::on_eof() {
  if (state_ == State::kLingering && !has_writers()) finish();
  maybe_settled();
}

void Command::finish() {
  linger_.reset();
  state_ = State::kEnded;
  tape_->about = std::exchange(end_, {});
  tape_->mark_ended(has_writers());
  save_end();
  events_.on_ended(*this);
  if (end_tree_) kill_tree(Cause::kNone, {});
  shop_.slots.release_when_empty(slot_, [this] {
    slot_ = nullptr;
    maybe_settled();
  });
}

void Command::save_end() {
  saved_ = tape_->save();
  // Until the disk takes it, the end is reported from memory.
  if (!saved_) {
    retry_ = shop_.loop.after(kSaveRetryMs, [this] {
      save_end();
      maybe_settled();
    });
  }
}

void Command::maybe_settled() {
  if (state_ != State::kEnded || slot_ != nullptr || !saved_ || settled_) return;
  if (has_writers()) return;
  if (tape_->mark_settled()) {
    save_end();
    if (!saved_) return;
  }
  settled_ = true;
  events_.on_settled(*this);
}

}  // namespace cay::keeper
