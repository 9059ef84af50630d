// Confinement: what the part of the gate that serves takes from itself before it reads a byte of a guest's. Of the calls it
// keeps those that moving bytes, asking names and writing DATA/gate need (outward_confinement.h and confinement.cc have the list); of the files DATA/gate, and for reading
// DATA/rules and what the C library resolves names by. Sockets of this host's own (AF_UNIX) it can neither make nor reach: what connects it to
// keepers is keeper_dialer.h.
#pragma once
#include "base/result.h"

namespace cay::gate {

// For a process with one thread and no_new_privs. Landlock's version that is in force; 0: this kernel has none, and the filter of
// calls is all there is.
Result<int> confine(int gate_directory, int rules_directory);

}  // namespace cay::gate
