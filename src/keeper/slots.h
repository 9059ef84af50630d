// Slots: the cgroups that commands run in, one at a time each. A slot is reused once it is empty,
// and counters are read as differences: removed memory groups would linger in the kernel.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "keeper/keeper.h"
#include "keeper/loop.h"

namespace cay::keeper {

// The first number after `key` at a line's start in a cgroup file; 0 if there is none. Without a
// key: the file's first number.
std::uint64_t read_counter(int dir, const char* file, std::string_view key = {});
// The file's text, empty where there is none, and what read_counter() finds in such a text.
std::string read_group_file(int dir, const char* file);
std::uint64_t counter_in(std::string_view text, std::string_view key);

class Slot {
 public:
  // The cgroup v2 directory to clone a child into; -1: the child has to join it as the others.
  // Kernels (6.18) kill every child that is cloned into a group which cgroup.kill was ever used
  // on: they compare the kill counters of two different groups.
  int clone_into() const { return clones_ && !killed_ ? v2_.get() : -1; }
  // Descriptors of files that a child writes "0" to, so that it joins the groups. The first is that
  // of clone_into(), where there is one.
  const std::vector<int>& joins() const { return joins_; }
  // Those of them for a child that was cloned into clone_into() by a process in flat_joins().
  const std::vector<int>& own_joins() const { return own_joins_; }
  // Whether there is anything to kill by (false: no cgroups here, use process groups).
  bool can_kill() const { return static_cast<bool>(kill_); }
  // SIGKILL to everything in it.
  void kill_all();
  bool populated() const;
  // OOM kills since it was taken.
  std::uint32_t oom_kills() const;
  std::uint64_t oom_kills_ever() const;
  std::uint64_t oom_kills_before() const {
    return oom_at_take_;
  }  // of oom_kills_ever(), those of earlier commands
  // The id by which the kernel knows it; 0: none.
  std::uint64_t id() const;
  // The kernel's freezer: asked for, and whether all inside stand still (an empty slot: at once).
  Result<void> freeze(bool on);
  bool frozen() const;
  // cgroup.events, opened anew: to be watched for a change of frozen().
  UniqueFd open_events() const;
  // Host pids inside.
  std::vector<pid_t> pids() const;

 private:
  friend class Slots;
  std::string name_;
  UniqueFd v2_, memory_, kill_, events_;
  UniqueFd v2_procs_, memory_tasks_;
  UniqueFd oom_;  // the file that counts OOM kills
  std::vector<int> joins_, own_joins_;
  bool clones_ = false;
  bool killed_ = false;  // its v2 group, by kill_all()
  bool for_keeper_ = false;
  std::uint64_t oom_at_take_ = 0;
  Watch watch_;
  std::function<void()> on_empty_;
};

class Slots {
 public:
  Slots(Loop& loop, const Context& context);
  // Files as Slot::joins(), of the groups that all commands share.
  std::vector<int> flat_joins() const;
  // An empty slot. nullptr only when a cgroup cannot be made; `error` then tells the errno.
  Slot* take(int& error);
  // The command is over: `on_empty` runs (from the loop) once nothing is left inside; the slot is
  // then free again and must not be used.
  void release_when_empty(Slot* slot, std::function<void()> on_empty);
  bool can_freeze() const { return context_.cgroup_fd >= 0; }
  // One that works for the keeper, not for the guest: it is never frozen. Kept for good.
  Slot* take_for_keeper(int& error);
  // Every slot that runs, or may run, the guest's processes.
  std::vector<Slot*> of_commands() const;
  void release_now(Slot* slot) { give_back(slot); }
  // How long no command, nor anything a command left, has run; 0 while one does, -1: none ever did.
  std::int64_t quiet_ms() const;
  // Sum over all slots, since the keeper began.
  std::uint64_t oom_kills_ever() const;
  void kill_all();

 private:
  bool grow(int& error);
  bool open_v2(Slot& slot, int& error);
  bool renew(Slot& slot, int& error);
  void check(Slot* slot);
  void give_back(Slot* slot);

  Loop& loop_;
  const Context& context_;
  UniqueFd pids_tasks_, cpu_tasks_;
  std::vector<std::unique_ptr<Slot>> slots_;
  std::vector<Slot*> free_;
  Timer spare_;                    // until one more is made
  std::size_t taken_ = 0;          // by commands
  std::int64_t quiet_since_ = -1;  // boottime_ms() when the last of them was given back
};

}  // namespace cay::keeper
