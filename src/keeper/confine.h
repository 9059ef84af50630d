// A child of the keeper calls confine() on itself once it has entered the sandbox. It does so
// before it runs the guest's program or touches a guest path. Async-signal-safe: no allocation, no
// locks.
#pragma once
#include <sys/types.h>

#include <cstdint>

#include "base/profile.h"

namespace cay::keeper {

// How a command is scheduled: as the keeper, but never better than an ordinary process.
struct Scheduling {
  int policy = 0;  // SCHED_OTHER
  int nice = 0;
};
// The caller's own. Called before the guest can see the caller and change it.
Scheduling own_scheduling();

// The signals whose disposition is not the default, as bits: signal N is bit N - 1. Only the caller
// itself changes them. So the keeper reads them once, when it has set its own.
using SignalBits = std::uint64_t;
SignalBits changed_signals();

struct Confinement {
  uid_t uid = 0;  // inside
  gid_t gid = 0;
  const gid_t* groups = nullptr;
  int group_count = 0;
  Profile profile = Profile::kDefault;
  // It does file work and runs nothing of the guest's: no_new_privs, the capabilities of file work
  // alone, profile default's filter whatever the profile, and the wall of file_wall.h.
  bool file_helper = false;
  // Set for a file helper that writes a layer. It works below this directory alone, and may make
  // FIFOs and set the capabilities of files.
  int layer_root_fd = -1;
  Scheduling scheduling = {};
  SignalBits changed_signals = ~SignalBits{0};  // those to set back
  bool is_prepared = false;                     // by confine_zygote() in an ancestor
  unsigned cpus = 0;  // how many it may run on, of those that cpusets allow; 0: all
};

// For a zygote (zygote.h): the part of confine() that its children inherit, and that nothing inside
// can undo before they are confined. Those are file mode mask, personality, rlimits, signals,
// bounding set and most of the filter. Needs all capabilities inside.
const char* confine_zygote(const Confinement& to);

// Bounding set, rlimits, seccomp filter, gids, uid, ambient and inheritable sets. Returns the name
// of the step that failed (errno is set), or nullptr. Written by the launcher room's owner
// (src/keeper/confine.cc with src/keeper/seccomp_*.{h,cc}); called by command and file children.
const char* confine(const Confinement& to);

}  // namespace cay::keeper
