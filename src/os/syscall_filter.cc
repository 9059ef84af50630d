#include "os/syscall_filter.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace cay::os {

bool try_syscall_filter(FilterSpan filter) {
  // The kernel copies the program; the cast only drops a const that the C declaration lacks.
  sock_fprog program{static_cast<unsigned short>(filter.length),
                     const_cast<sock_filter*>(filter.code)};
  return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0;
}

Result<void> load_syscall_filter(FilterSpan filter) {
  if (try_syscall_filter(filter)) return {};
  return Error::from_errno(errno, "load a filter of system calls");
}

}  // namespace cay::os
