// The launcher's own capabilities: each with the verb that needs it. It gives up all others for
// good before it opens the host, for its guardian, its children and the programs that it runs, too.
// tests/kernel/test_launcher.py compares them with this list, and the unit cay-launcher.service
// with it. Sandboxes lose nothing by it: a user namespace has all of its own.
#pragma once
#include <linux/capability.h>

#include <cstdint>

#include "os/caps.h"

namespace cay::launcher {

inline constexpr int kCapabilities[] = {
    CAP_SYS_ADMIN,   // mounts, idmapped mounts, namespaces, loop devices, btrfs, the kernel's part
                     // of the program record (BPF, tracepoints)
    CAP_SYS_CHROOT,  // a keeper's empty root; the programs that finish the default snapshot
    CAP_SYS_PTRACE,  // /proc/PID/ns/user of a sandbox's init, which is of another user
    CAP_SYS_RESOURCE,  // how many descriptors it may have; a keeper's oom_score_adj, so that
                       // nothing inside gets the launcher's back
    CAP_SETUID,        // a keeper becomes its own user; id maps
    CAP_SETGID,        // the same
    CAP_SETPCAP,       // a keeper empties its bounding set
    CAP_CHOWN,  // cgroups, spools, sockets and the snapshot's files are given to their owners
    CAP_DAC_OVERRIDE,  // what lies in the daemon's and the keepers' own directories
    CAP_FOWNER,        // modes of files of other users; hard links of the default snapshot
                       // (protected_hardlinks)
    CAP_FSETID,  // set-group-id directories of spools, set-id programs of the default snapshot
    CAP_KILL,    // keepers, which are other users
    CAP_MKNOD,   // a sandbox's own device nodes
};

constexpr std::uint64_t capability_bits() {
  std::uint64_t bits = 0;
  for (const int capability : kCapabilities) bits |= os::cap_bit(capability);
  return bits;
}

}  // namespace cay::launcher
