// Confinement: the rights that the serving process of the gate gives up before it reads a byte of a
// guest's. It keeps the system calls for moving bytes, for resolving names and for writing
// DATA/gate (os/outward_confinement.h and confinement.cc list them). It keeps DATA/gate, and may
// read DATA/rules and the C library's resolver files. It can neither make nor reach UNIX sockets of
// this host: keeper_dialer.h connects it to keepers.
#pragma once
#include "base/result.h"

namespace cay::gate {

// For a process with one thread and no_new_privs. Landlock's version that is in force; 0: this
// kernel has none, and the filter of calls is all there is.
Result<int> confine(int gate_directory, int rules_directory);

}  // namespace cay::gate
