// confine() drops the broker's access to the host before the broker reads a byte from anybody.
//
// It is the gate's confinement (gate/confinement.h) with DATA/vault instead of DATA/gate, and the
// broker cannot connect to UNIX sockets of the host.
#pragma once
#include "base/result.h"

namespace cay::vault {

// For a process with one thread and no_new_privs. Landlock's version that is in force; 0: this
// kernel has none.
Result<int> confine(int vault_directory);

}  // namespace cay::vault
