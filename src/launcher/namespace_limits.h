// The number of namespaces that the users of a sandbox may make inside it, by the kernel's own
// count (/proc/sys/user). Without the filter of system calls this wall alone stands between a guest
// and the kernel's privileged paths. In profile `nested` it keeps a guest from making them without
// end.
#pragma once
#include "base/profile.h"
#include "base/result.h"

namespace cay::launcher {

// `settings` is the directory sys/user of a writable procfs, opened from within the sandbox's user
// namespace. The caller has every capability there and needs no mount any more, for each detached
// mount counts as a mount namespace. Namespaces that the guest makes inside count at every user
// namespace above, so a maximum of a namespace made inside changes nothing here.
struct NamespaceRights {
  Profile profile = Profile::kDefault;
  // In profile nested, network namespaces, too. Each brings routes, packet filters and sockets'
  // memory of its own, a large part of the kernel, and a container can use the sandbox's network as
  // well. So only the operator's setting allows them.
  bool networks = false;
};
Result<void> limit_namespaces(int settings, const NamespaceRights& rights);

}  // namespace cay::launcher
