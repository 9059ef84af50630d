// The keeper's first moments: forked by the launcher as root, it becomes its own host uid, makes
// init (so that it owns the sandbox's user namespace), jails itself, and goes on as keeper::run.
#pragma once
#include <sys/types.h>

#include <string>

#include "launcher/groups.h"
#include "launcher/host.h"
#include "launcher/init_process.h"
#include "launcher/program_recorder.h"

namespace cay::launcher {

struct KeeperPlan {
  std::string id;
  uid_t uid = 0;
  uid_t first_uid = 0;  // of the inside
  int slot_fd = -1;     // held, never used: it holds the slot's lock
  int listen_fd = -1;
  int spool_fd = -1;
  int gate_fd = -1;  // listening; -1: the sandbox has no way out
  std::string policy;
  std::string no_network{};       // filled in: why it has none all the same
  std::uint64_t spool_bytes = 0;  // 0: the keeper's default
  bool waits_for_use = false;     // wire::CreateSandbox
  int control_fd =
      -1;  // to the launcher: "init PID", then "ready" (and why there is no way out) or what failed
  int init_fd = -1;  // init's end of its own socket to the launcher
  const SandboxGroups* groups = nullptr;
  bool joins_group = false;         // it was not cloned into its group
  const ProgramTap* tap = nullptr;  // null: programs are not recorded
  InitPlan init;                    // descriptors and staging are filled in here
};

[[noreturn]] void run_keeper(const Host& host, KeeperPlan plan);

}  // namespace cay::launcher
