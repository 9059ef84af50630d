#include "keeper/command.h"

#include <utility>

#include "keeper/long_arguments.h"
#include "keeper/stats.h"

namespace cay::keeper {
namespace {

constexpr std::int64_t kSaveRetryMs = 1000;
// Background children that hold the output delay the end by this at most. Their output until then
// belongs to the result.
constexpr std::int64_t kLateOutputMs = 150;

std::uint64_t micros(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_usec);
}

wire::CommandMsg record_of_start(const wire::StartCommand& request, const Context& context) {
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
  record.witness = context.witness;
  record.ttl_ms = request.ttl_ms;
  record.boot_id = context.boot_id;
  record.mark = request.mark;
  return record;
}

}  // namespace

Command::Command(const CommandContext& shop, CommandEvents& events)
    : shop_(shop),
      events_(events),
      tree_(shop),
      pipes_(shop),
      clocks_(shop.loop, shop.context.orphan_grace_ms,
              [this](KillCause cause, const std::string& by) { tree_.kill(cause, by); }) {}

Result<void> Command::begin(wire::StartCommand request) {
  id_ = request.command_id;
  end_tree_ = request.end_tree;
  clocks_.set(request);
  wire::CommandMsg record = record_of_start(request, shop_.context);
  Program program;
  CAY_CHECK(pipes_.make(request, program));
  CAY_CHECK(tree_.take_slot());
  const std::uint64_t limit =
      request.spool_limit > 0 ? request.spool_limit : shop_.context.default_spool_limit;
  auto tape = Tape::create(shop_.context.spool_fd, std::move(record), limit, request.disk_reserve,
                           &shop_.spool_budget, &shop_.spare_directory);
  if (!tape) {
    tree_.give_slot_back();
    return std::move(tape).error();
  }
  tape_ = *std::move(tape);
  if (shop_.spare_directory.is_worth_another())
    shop_.loop.when_free([&spare = shop_.spare_directory] { spare.prepare(); });
  program.argv = std::move(request.argv);
  program.env = std::move(request.env);
  program.user = std::move(request.user);
  program.cwd = std::move(request.cwd);
  shop_.spawner.start(std::move(program), tree_.slot(),
                      [this](Result<Started> result) { on_start_result(std::move(result)); });
  return {};
}

void Command::on_start_result(Result<Started> result) {
  pipes_.close_child_ends();
  if (auto took = result ? pipes_.take_terminal() : Result<void>(); !took) {
    tree_.discard(*result);
    result = std::move(took).error();
  }
  if (!result) {
    Tape::erase(shop_.context.spool_fd, id_);
    tree_.leave_slot();
    events_.on_started(*this, std::move(result).error());
    return;
  }
  Started& started = *result;
  state_ = State::kRunning;
  tree_.leader_started(started);
  tape_->about.pid = started.guest_pid;
  if (tape_->about.cwd.empty()) tape_->about.cwd = started.home;
  const auto on_bytes = [this](bool layout_changed) {
    if (layout_changed) tape_->save();
    events_.on_output(*this);
  };
  pipes_.open(*tape_, on_bytes, [this] { on_eof(); });
  clocks_.start();
  if (!started.exit) shop_.reaper.expect(started.pid, [this](const Exit& exit) { on_exit(exit); });
  events_.on_started(*this, {});
  if (started.exit) {
    on_exit(*started.exit);
  } else {
    tree_.kill_if_due();
  }
}

Result<void> Command::kill(int signal, const std::string& by) {
  if (signal < 0 || signal > 64) {
    return Error{Code::kInvalidArgument, "bad_signal",
                 "a signal is a number from 1 to 64, or 0 for the whole tree", 0};
  }
  if (signal == 0) {
    tree_.kill(KillCause::kRequest, by);
    return {};
  }
  if (tree_.signal(signal, by)) return {};
  return Error{Code::kNotReady, "command_ended", "the command has ended", 0};
}

Result<void> Command::resize(std::uint16_t rows, std::uint16_t cols) {
  if (!pipes_.is_terminal()) {
    return Error{Code::kNotReady, "no_terminal", "the command has no terminal", 0};
  }
  if (state_ != State::kEnded && pipes_.resize(rows, cols)) return {};
  return Error{Code::kNotReady, "command_ended", "the command has ended", 0};
}

void Command::daemon_left() {
  clocks_.daemon_left();
  if (state_ == State::kRunning && pipes_.input().is_cut_short())
    tree_.kill(KillCause::kInputLost, {});
}

void Command::on_exit(const Exit& exit) {
  clocks_.end();
  pipes_.drain();
  state_ = State::kLingering;
  end_ = tape_->about;
  tree_.leader_ended(exit, end_);
  end_.ended_at = wall_ms();
  end_.ended_boot_ms = boottime_ms();
  end_.cpu_usec = micros(exit.usage.ru_utime) + micros(exit.usage.ru_stime);
  end_.max_rss_bytes = static_cast<std::uint64_t>(exit.usage.ru_maxrss) * 1024;
  if (end_.oom_kills > 0) end_.tmpfs_bytes = bytes_in_tmpfs(shop_.context);
  pipes_.input().close();
  // A tree that is killed writes no more, and a terminal was hung up with its leader's end.
  if (!pipes_.has_writers() || tree_.was_killed() || end_tree_ || pipes_.is_terminal())
    return finish();
  linger_ = shop_.loop.after(kLateOutputMs, [this] { finish(); });
}

void Command::on_eof() {
  if (state_ == State::kLingering && !pipes_.has_writers()) finish();
  maybe_settled();
}

void Command::finish() {
  linger_.reset();
  state_ = State::kEnded;
  tape_->about = std::exchange(end_, {});
  tape_->mark_ended(pipes_.has_writers());
  save_end();
  events_.on_ended(*this);
  if (end_tree_) tree_.kill_rest();
  tree_.release_when_empty([this] { maybe_settled(); });
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
  if (state_ != State::kEnded || !tree_.is_empty() || !saved_ || settled_) return;
  if (pipes_.has_writers()) return;
  if (tape_->mark_settled()) {
    save_end();
    if (!saved_) return;
  }
  settled_ = true;
  events_.on_settled(*this);
}

}  // namespace cay::keeper
