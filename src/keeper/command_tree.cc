#include "keeper/command_tree.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "keeper/tracer.h"

namespace cay::keeper {
namespace {

constexpr std::int64_t kChaseMs = 200;  // a killed process that nobody holds is reaped long before

}  // namespace

Result<void> CommandTree::take_slot() {
  int error = 0;
  slot_ = shop_.slots.take(error);
  if (slot_ == nullptr)
    return Error::from_errno(error, "make a cgroup for the command", "start_failed");
  victims_at_start_ = shop_.oom_victims.count();
  return {};
}

void CommandTree::give_slot_back() { shop_.slots.release_now(std::exchange(slot_, nullptr)); }

void CommandTree::leave_slot() {
  shop_.slots.release_when_empty(std::exchange(slot_, nullptr), [] {});
}

void CommandTree::leader_started(const Started& started) {
  leader_runs_ = true;
  pid_ = started.pid;
  guest_pid_ = started.guest_pid;
}

void CommandTree::discard(const Started& started) {
  if (slot_->can_kill()) slot_->kill_all();
  if (started.exit) return;
  ::kill(started.pid, SIGKILL);
  shop_.reaper.expect(started.pid, [](const Exit&) {});
}

void CommandTree::kill_at_start(const std::string& by) {
  kills_.killed(KillCause::kRequest, by, slot_->oom_kills());
}

void CommandTree::kill_if_due() {
  if (was_killed()) kill(KillCause::kRequest, {});
}

void CommandTree::kill(KillCause cause, const std::string& by) {
  // A leader that is dead already, though not reaped yet, was not killed by this.
  if (leader_runs_ && !was_killed() && !has_ended(pid_))
    kills_.killed(cause, by, slot_->oom_kills());
  if (slot_ != nullptr && slot_->can_kill()) {
    slot_->kill_all();
  } else {
    signal_leader(SIGKILL);
  }
  if (!leader_runs_) return;
  ::kill(pid_, SIGKILL);
  if (chasing_) return;
  chasing_ = true;
  chase_ = shop_.loop.after(kChaseMs, [this] { chase_end(); });
}

void CommandTree::kill_rest() {
  if (slot_ != nullptr && slot_->can_kill() && !slot_->populated()) return;
  kill(KillCause::kNone, {});
}

void CommandTree::chase_end() {
  if (!leader_runs_) return;
  kill_tracer_of_dead(shop_.context.root_fd, guest_pid_);
  chase_ = shop_.loop.after(kChaseMs, [this] { chase_end(); });
}

bool CommandTree::signal(int signal, const std::string& by) {
  if (!leader_runs_) return signal_rest(signal);
  if (!has_ended(pid_)) kills_.signalled(signal, by);
  signal_leader(signal);
  return true;
}

void CommandTree::signal_leader(int signal) {
  if (::kill(-pid_, signal) != 0) ::kill(pid_, signal);
}

bool CommandTree::signal_rest(int signal) {
  bool any = false;
  for (const pid_t pid : slot_ != nullptr ? slot_->pids() : std::vector<pid_t>{}) {
    const UniqueFd handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    // Another process may have this number by now, so the group is read again.
    const auto now = slot_->pids();
    if (!handle || std::find(now.begin(), now.end(), pid) == now.end()) continue;
    any |= ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0;
  }
  return any;
}

void CommandTree::leader_ended(const Exit& exit, wire::CommandMsg& record) {
  leader_runs_ = false;
  chase_.reset();
  record.oom_kills = slot_->oom_kills();
  kills_.classify(exit, fate_of_leader(exit, record.oom_kills), record);
}

Fate CommandTree::fate_of_leader(const Exit& exit, std::uint32_t oom_kills) const {
  if (!exit.signalled || exit.value != SIGKILL || oom_kills == 0) return Fate::kSpared;
  return shop_.oom_victims.fate_of({.pid = pid_,
                                    .group = slot_->id(),
                                    .since = victims_at_start_,
                                    .kills_before = slot_->oom_kills_before(),
                                    .kills_now = slot_->oom_kills_before() + oom_kills});
}

void CommandTree::release_when_empty(std::function<void()> on_empty) {
  shop_.slots.release_when_empty(slot_, [this, on_empty = std::move(on_empty)] {
    slot_ = nullptr;
    on_empty();
  });
}

}  // namespace cay::keeper
