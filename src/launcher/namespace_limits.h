// How many namespaces the users of a sandbox may make inside it, by the kernel's own count (/proc/sys/user). Without the
// filter of system calls this wall alone stands between a guest and the kernel's privileged paths; with profile `nested`
// it is what keeps a guest from making them without end.
#pragma once
#include "base/profile.h"
#include "base/result.h"

namespace cay::launcher {

// `settings`: the directory sys/user of a procfs that can be written, opened from within the sandbox's user namespace. For who
// has every capability there, once it needs no mount any more: each detached mount counts as a mount namespace. What the guest
// makes inside counts at every user namespace above, so a maximum of a namespace made inside changes nothing here.
struct NamespaceRights {
  Profile profile = Profile::kDefault;
  // In profile nested, of the network too. Each brings routes, packet filters and sockets' memory of its own, a large part of the
  // kernel, and a container is as well off with the sandbox's network: so only where the operator says so.
  bool networks = false;
};
Result<void> limit_namespaces(int settings, const NamespaceRights& rights);

}  // namespace cay::launcher
