// The keeper: one single-threaded process for each sandbox, on the host side. The launcher forks it
// (no exec) and hands it this context; it never returns. Unprivileged: a host uid of its own, no
// capabilities, chrooted into an empty directory once its init runs.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/profile.h"
#include "base/result.h"
#include "keeper/peer_proof.h"

namespace cay::keeper {

// Everything a keeper owns. Descriptors only: it opens no host path.
struct Context {
  std::string sandbox_id;
  std::string instance;
  std::string boot_id;
  std::string build;

  int listen_fd = -1;  // stream socket, listening, non-blocking: UNIX, or TCP with a SharedKey
  DaemonProof daemon = PeerCredentials{};  // whom it serves, and how such a peer proves itself
  int spool_fd = -1;                       // directory for commands' spools, on the host's disk
  int lifeline_fd = -1;  // write end; init's poll sees it close. CLOEXEC, never handed on
  int init_pidfd = -1;   // of PID 1 inside; -1 in tests: commands then run where the keeper is
  bool own_clocks =
      false;  // a time namespace is among the sandbox's. The keeper's own clocks are the host's
  int devpts_fd = -1;     // the sandbox's devpts root (openat "ptmx"); -1: the host's /dev/ptmx
  int root_fd = -1;       // the sandbox's root, O_PATH
  int bare_root_fd = -1;  // the same with nothing mounted in it, O_PATH: where layers are written.
                          // -1: they cannot be
  std::vector<int> tmpfs_fds;  // its file systems in memory, O_PATH (keeper/stats.h)

  // Cgroup directories delegated to the keeper's uid; -1 where the controller is not used.
  //
  // v2: `cgroup_fd` is the sandbox's "cmds" group. It has one child ("s0", "s1", …) for each
  // command slot, with cgroup.procs, cgroup.kill and cgroup.events. It counts CPU time (cpu.stat).
  // On a pure v2 host it has memory.events.
  //
  // v1 (hybrid): `memory_fd` is the sandbox's memory group for commands, with memory.oom_control.
  // It is the first slot's, and has the others as children. `pids_fd` and `cpu_fd` are flat: a
  // child joins them by `tasks`.
  int cgroup_fd = -1;
  int memory_fd = -1;
  int pids_fd = -1;
  int cpu_fd = -1;
  bool pure_v2 = false;
  bool clones_into_groups = false;  // the kernel clones a child straight into a v2 group

  // The size of the machine as programs inside see it (keeper/machine_files.h).
  // Files for writing: those over /proc/meminfo and /proc/stat inside (-1: none), and
  // /sys/fs/cgroup/memory.current (-1: the kernel's own is there).
  int meminfo_fd = -1;
  int stat_fd = -1;
  int memory_current_fd = -1;
  std::vector<unsigned> cpus;      // ids shown; a command may run on as many CPUs; empty: on all
  std::uint64_t memory_bytes = 0;  // the limit

  int oom_victims_fd = -1;  // the last processes that the kernel killed for memory
                            // (keeper/oom_victims.h); -1: not told

  // The program record (keeper/program_record.h); -1: none is kept.
  int program_ring_fd = -1;   // BPF ring buffer of CAY_PROGRAM_RING bytes
  int program_state_fd = -1;  // its counters, a BPF array of one cay_program_state
  uid_t first_uid = 0;        // the host's number of root inside

  // The way out (keeper/lender.h); -1: there is none.
  int gate_fd = -1;           // UNIX stream socket, listening, non-blocking
  uid_t gate_uid = 0;         // whom the sockets are lent, besides root
  std::vector<int> lent_fds;  // wire/guest_network.h
  std::string policy;         // lent with them; the keeper knows none

  Profile profile = Profile::kDefault;                          // of commands
  std::uint64_t default_spool_limit = std::uint64_t{4} << 30;   // per stream
  std::uint64_t sandbox_spool_limit = std::uint64_t{16} << 30;  // all commands together

  std::string witness = "outside";  // where this keeper stands: outside|inside the sandbox
  std::int64_t orphan_grace_ms =
      30'000;  // after a daemon's return, for kill_on_disconnect commands
  std::int64_t file_deadline_ms = 60'000;  // a file operation without progress for so long is ended
  std::uint32_t max_running = 4096;        // commands at once; less where RLIMIT_NOFILE says so

  // The zygote ends if nothing was started for so long. In a sandbox that was booted ahead it is
  // there until the first start.
  std::int64_t zygote_idle_ms = 10'000;
  bool waits_for_use = false;
};

// Whether what the context asks for can be had: asked before the sandbox is said to be up.
Result<void> check(const Context& context);

// Ends (by _exit) after kShutdown, SIGTERM, or the end of the sandbox's init; the ends of all
// commands are on disk then. Stops serving for no other reason.
[[noreturn]] void run(const Context& context);

}  // namespace cay::keeper
