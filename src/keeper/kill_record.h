// KillRecord: the signals that the keeper sent to a command's leader, and on whose behalf. It
// decides how the leader's end is reported: as the keeper's work or as somebody else's.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "keeper/oom_victims.h"
#include "keeper/reaper.h"
#include "wire/messages.h"

namespace cay::keeper {

// Why the keeper kills a command's whole tree.
enum class KillCause : std::uint8_t { kNone, kTimeout, kIdle, kRequest, kInputLost };

class KillRecord {
 public:
  // The tree is about to be killed. Only the first cause counts. `oom_kills`: what the command's
  // group has counted until now.
  void killed(KillCause cause, const std::string& by, std::uint32_t oom_kills);
  // Another signal is about to be sent to the leader.
  void signalled(int signal, const std::string& by);
  bool was_killed() const { return cause_ != KillCause::kNone; }

  // Enters the state, and what belongs to it, into `record`, which has the group's count already.
  // `fate`: what the kernel's out-of-memory killer did to the leader.
  void classify(const Exit& exit, Fate fate, wire::CommandMsg& record) const;

 private:
  KillCause cause_ = KillCause::kNone;
  std::string by_;
  std::uint32_t oom_at_kill_ = 0;
  std::vector<std::pair<int, std::string>> sent_;  // other signals, and for whom
};

}  // namespace cay::keeper
