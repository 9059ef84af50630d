// The host's room for filters of system calls. A kernel's compiled BPF programs lie in one room of
// the whole host (net.core.bpf_jit_limit), which no control group divides. If it is used up, a
// kernel that always compiles (CONFIG_BPF_JIT_ALWAYS_ON) loads no filter without CAP_BPF on the
// host. Then neither a sandbox's init nor a command starts.
#pragma once
#include "base/profile.h"
#include "base/result.h"

namespace cay::keeper {

inline constexpr unsigned kMostTried = 64;  // the kernel takes about a hundred of a process

// Filters of nested alone let further ones be loaded over them: of the others it is one at most.
// How many of `most` (at most kMostTried) filters of `profile` the kernel takes now, all at once.
// They are loaded in a child that holds none of the caller's capabilities, and are gone with it.
// Waits for that child.
Result<unsigned> try_guest_filters(Profile profile, unsigned most);

// kUnavailable (no_filter_room).
Error no_filter_room();

}  // namespace cay::keeper
