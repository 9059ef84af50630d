// The guest's seccomp filters for this machine, one for each profile, compiled with the program.
// Loading one allocates nothing and may happen between clone and exec.
#pragma once
#include "base/profile.h"
#include "keeper/seccomp_compile.h"

namespace cay::keeper {

#if defined(__x86_64__)
inline constexpr Arch kThisArch = Arch::kX86_64;
#elif defined(__aarch64__)
inline constexpr Arch kThisArch = Arch::kArm64;
#else
#error "cay knows the system calls of x86-64 and arm64 only: add a column to keeper/seccomp_rules.h"
#endif

// The whole filter, or its two parts (seccomp_profiles.h).
enum class FilterPart { kWhole, kAhead, kLast };

// Loads it for the calling thread. Needs no_new_privs, or CAP_SYS_ADMIN in the thread's user
// namespace. Returns 0, or -1 with errno.
int load_guest_filter(Profile profile, FilterPart part = FilterPart::kWhole);

}  // namespace cay::keeper
