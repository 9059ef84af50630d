// Confinement: what the broker takes from itself before it reads a byte of anybody's: as the gate
// does (gate/confinement.h), with DATA/vault instead of DATA/gate, and without any way to connect
// to a socket of this host's own.
#pragma once
#include "base/result.h"

namespace cay::vault {

// For a process with one thread and no_new_privs. Landlock's version that is in force; 0: this
// kernel has none.
Result<int> confine(int vault_directory);

}  // namespace cay::vault
