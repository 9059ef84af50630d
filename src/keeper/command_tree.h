// CommandTree: the processes of a command. It owns the cgroup slot that they run in and the number
// of their leader, and it kills and signals them.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "keeper/kill_record.h"
#include "keeper/loop.h"
#include "keeper/command_context.h"

namespace cay::keeper {

class CommandTree {
 public:
  explicit CommandTree(const CommandContext& shop) : shop_(shop) {}

  // Before the start. Fails: start_failed.
  Result<void> take_slot();
  Slot& slot() { return *slot_; }
  // Nothing was started in the slot.
  void give_slot_back();
  // The start is over and there is no command. The slot is freed once it is empty.
  void leave_slot();

  void leader_started(const Started& started);
  // Kills a leader that has started, if nobody could read or end it.
  void discard(const Started& started);

  // SIGKILL to the whole tree. After the leader's end it reaches what is left of the tree.
  void kill(KillCause cause, const std::string& by);
  // The same after the leader's end. A slot in which nothing is left stays as it is.
  void kill_rest();
  // During the start: a leader that comes to run is killed at once, by kill_if_due().
  void kill_at_start(const std::string& by);
  void kill_if_due();
  bool was_killed() const { return kills_.was_killed(); }
  // Sends another signal to the leader, or after its end to what is left of the tree. Returns false
  // if nothing is left.
  bool signal(int signal, const std::string& by);

  // Enters the leader's state at its end, and the signal or exit code, into `record`.
  void leader_ended(const Exit& exit, wire::CommandMsg& record);
  // `on_empty` runs once nothing is left of the tree.
  void release_when_empty(std::function<void()> on_empty);
  bool is_empty() const { return slot_ == nullptr; }

 private:
  Fate fate_of_leader(const Exit& exit, std::uint32_t oom_kills) const;
  void signal_leader(int signal);
  bool signal_rest(int signal);
  // After a kill: a leader whose end does not come may be held by a tracer of the guest's.
  void chase_end();

  const CommandContext& shop_;
  Slot* slot_ = nullptr;
  bool leader_runs_ = false;
  pid_t pid_ = 0;
  pid_t guest_pid_ = 0;
  std::uint64_t victims_at_start_ = 0;
  KillRecord kills_;
  bool chasing_ = false;
  Timer chase_;
};

}  // namespace cay::keeper
