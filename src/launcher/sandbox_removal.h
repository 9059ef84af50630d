// SandboxRemoval: takes off the host what a sandbox that ends has left there. Each call is one try.
#pragma once
#include <cstdint>
#include <string>

#include "base/result.h"
#include "launcher/host.h"
#include "launcher/late_unmounts.h"
#include "launcher/poller.h"
#include "launcher/program_recorder.h"
#include "launcher/sandbox_state.h"

namespace cay::launcher {

class SandboxRemoval {
 public:
  // The kind of thing that is still there after a try.
  enum class Left : std::uint8_t { kNothing, kProcesses, kFiles };

  SandboxRemoval(Host& host, Poller& poller, ProgramRecorder& programs)
      : host_(host), programs_(programs), late_(poller) {}

  // Kills all of it, and takes hold of its init.
  void kill(SandboxState& sandbox);
  // Whether the end of its keeper or its init, which are events, is still to come.
  static bool is_awaited(const SandboxState& sandbox);
  // Removes cgroups, sockets and the program record. With Keep::kNothing also the disk, the spool
  // and the launcher's record. A child removes what takes long.
  Result<Left> remove_traces(SandboxState& sandbox);
  // The error for a caller who waits for an end that is not over.
  static Error why_unfinished(const std::string& id, Left left);
  // Returns the milliseconds until it wants to be called again; -1: never.
  int tick() { return late_.tick(); }

 private:
  Result<void> start_remover(SandboxState& sandbox);
  void stop_recording(SandboxState& sandbox);

  Host& host_;
  ProgramRecorder& programs_;
  LateUnmounts late_;
};

}  // namespace cay::launcher
