// The keeper's first moments: forked by the launcher as root, it becomes its own host uid, makes
// init (so that it owns the sandbox's user namespace), jails itself, and goes on as keeper::run.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "launcher/host.h"
#include "launcher/init_process.h"

namespace cay::launcher {

struct KeeperPlan {
  std::string id;
  uid_t uid = 0;
  uid_t first_uid = 0;  // of the inside
  int slot_fd = -1;     // held, never used: it holds the slot's lock
  std::string policy;
  std::string no_network{};       // filled in: why it has none all the same
  std::uint64_t spool_bytes = 0;  // 0: the keeper's default
  bool waits_for_use = false;     // wire::CreateSandbox
  // To the launcher: "init PID" (without groundwork), then "ready" (and why there is no way out) or
  // what failed. From it: KeeperParts.
  int control_fd = -1;
  int init_fd = -1;          // init's end of its own socket to the launcher
  int group_fd = -1;         // of its group
  bool joins_group = false;  // it was not cloned into its group
  InitPlan init;             // descriptors and staging are filled in here
};

// The launcher's message with the descriptors that the keeper gets once they are made: one letter
// for each. -1 is not sent.
struct KeeperParts {
  enum Kind : char {
    kListener = 'l',
    kSpool = 's',
    kGate = 'g',      // listening; none: the sandbox has no way out
    kCommands = 'c',  // groups.h
    kMemory = 'm',
    kPids = 'p',
    kCpu = 'u',
    kRing = 'r',  // program_recorder.h; none: programs are not recorded
    kState = 't',
    kUnused = 'h',  // never used: so that the record outlives the launcher
  };
  std::string kinds;
  std::vector<int> fds;

  void add(Kind kind, int fd) {
    if (fd < 0) return;
    kinds += kind;
    fds.push_back(fd);
  }
};

[[noreturn]] void run_keeper(const Host& host, KeeperPlan plan);

}  // namespace cay::launcher
