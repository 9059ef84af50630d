#include "launcher/init_filter.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "keeper/seccomp_filter.h"

namespace cay::launcher {
namespace {

constexpr std::uint32_t kCalls[] = {
    SYS_wait4,
    SYS_ppoll,
#ifdef SYS_poll
    SYS_poll,  // x86-64: what the C library's poll() is there
#endif
    SYS_read,
    SYS_restart_syscall,  // a poll that a SIGSTOP of the host's interrupted goes on
    SYS_exit_group,
};
constexpr std::size_t kCount = sizeof kCalls / sizeof kCalls[0];

constexpr sock_filter stmt(int code, std::uint32_t k) { return {static_cast<std::uint16_t>(code), 0, 0, k}; }
constexpr sock_filter jump_if(std::uint32_t k, std::size_t yes, std::size_t no) {
  return {BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint8_t>(yes), static_cast<std::uint8_t>(no), k};
}

// Architecture, then one comparison for each call; the last two are: kill, allow.
constexpr auto compile() {
  std::array<sock_filter, kCount + 5> code{};
  std::size_t at = 0;
  code[at++] = stmt(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
  code[at++] = jump_if(keeper::audit_arch(keeper::kThisArch), 0, kCount + 1);
  code[at++] = stmt(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (std::size_t i = 0; i < kCount; ++i) code[at++] = jump_if(kCalls[i], kCount - i, 0);
  code[at++] = stmt(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  code[at++] = stmt(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  return code;
}
constinit const auto kFilter = compile();

}  // namespace

Result<void> load_init_filter() {
  // The kernel copies the program; the cast only drops a const that the C declaration lacks.
  sock_fprog program{static_cast<unsigned short>(kFilter.size()), const_cast<sock_filter*>(kFilter.data())};
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) return Error::from_errno(errno, "load init's filter");
  return {};
}

}  // namespace cay::launcher
