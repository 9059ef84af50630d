// The device nodes of a sandbox: a small tmpfs of its own, made by the launcher (only host root may
// make nodes). The host's own nodes must not be lent. A process that may open one can watch each
// use of it by inotify, on the host and in other sandboxes. It can also lock it against everybody.
#pragma once
#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::launcher {

struct Device {
  const char* name;
  unsigned major, minor;  // Documentation/admin-guide/devices.txt
};
inline constexpr Device kDevices[] = {{"null", 1, 3},   {"zero", 1, 5},    {"full", 1, 7},
                                      {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0}};

// A regular file beside the nodes, empty and with no permission for anybody. It is host root's, so
// not even root inside may open it or change its mode.
inline constexpr const char* kClosedFile = "closed";

// A detached mount with a node of each in its root, and the closed file.
Result<UniqueFd> make_devices();

}  // namespace cay::launcher
