// ProgramRecorder: the launcher's half of the program record
// (docs/decisions/0012-program-record.md). A child loads the kernel part when a sandbox first needs
// it. Each such sandbox gets a ring, and all goes a while after the last one ended.
//
// Keepers hold the tracepoints too, so recording goes on when this worker dies. Its successor knows
// a tap by the ids in the sandbox's record, and loads a part of its own for new ones.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "launcher/poller.h"
#include "launcher/program_loader.h"

namespace cay::launcher {

// The kernel's objects of one sandbox's record: enough to remove it.
struct ProgramTapId {
  std::uint64_t group = 0;  // of the cgroup of its command slots; 0: none
  std::uint32_t rings = 0, states = 0;
};

// The keeper's part.
struct ProgramTap {
  ProgramTapId id;
  UniqueFd ring, state;
  std::vector<int> links;  // the recorder's: inherited by a fork
};

class ProgramRecorder {
 public:
  using Then = std::function<void(const Result<void>&)>;

  explicit ProgramRecorder(Poller& poller) : poller_(poller) {}
  ~ProgramRecorder();
  ProgramRecorder(const ProgramRecorder&) = delete;
  ProgramRecorder& operator=(const ProgramRecorder&) = delete;

  // At once where the kernel part is loaded, else from the loop when it is, or cannot be.
  void when_ready(Then then);
  // Records from now on what runs below cgroup `cmds`. Only when ready.
  Result<ProgramTap> tap(int cmds);
  // Idempotent; of any worker's part.
  void untap(const ProgramTapId& id);

  // Lets go of what was not used for a while. Milliseconds until it wants to be called again; -1:
  // never.
  int tick();

 private:
  using Clock = std::chrono::steady_clock;
  void load();
  void on_loaded();
  void settle(const Result<void>& result);

  Poller& poller_;
  std::optional<ProgramPart> part_;
  std::uint32_t rings_id_ = 0, states_id_ = 0;
  std::set<std::uint64_t> taps_;  // groups, of this part
  Clock::time_point idle_since_;
  std::vector<Then> waiting_;
  UniqueFd from_child_, child_;
  pid_t child_pid_ = 0;
};

}  // namespace cay::launcher
