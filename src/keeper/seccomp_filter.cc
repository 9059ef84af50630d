#include "keeper/seccomp_filter.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace cay::keeper {

constinit const FilterProgram kGuestFilter = compile_filter(kGuestRules, kThisArch);

int load_guest_filter() {
  // The kernel copies the program; the cast only drops a const that the C declaration lacks.
  sock_fprog program{kGuestFilter.length, const_cast<sock_filter*>(kGuestFilter.code.data())};
  return static_cast<int>(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

}  // namespace cay::keeper
