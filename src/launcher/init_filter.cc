#include "launcher/init_filter.h"

#include <sys/syscall.h>

#include <array>

#include "os/syscall_filter.h"

namespace cay::launcher {
namespace {

constexpr auto kCalls = std::to_array<os::AllowedCall>({
    {SYS_wait4},
    {SYS_ppoll},
#ifdef SYS_poll
    {SYS_poll},  // x86-64: what the C library's poll() is there
#endif
    {SYS_read},
    {SYS_restart_syscall},  // a poll that a SIGSTOP of the host's interrupted goes on
    {SYS_exit_group},
});
constinit const auto kFilter = os::compile_allow_list(kCalls, SECCOMP_RET_KILL_PROCESS);

}  // namespace

bool load_init_filter() { return os::try_syscall_filter(kFilter.span()); }

}  // namespace cay::launcher
