// SyscallFilter: an allow-list of system calls, with checks of their arguments, as a classic BPF
// program. Compiled with the program, so that loading it allocates nothing.
#pragma once
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace cay::os {

enum class Width : std::uint8_t {
  kLow,   // of its low word: for arguments that the kernel takes as an int, or of which it looks at
          // those bits only
  kBoth,  // and the high word is 0: for pointers, which are more than their low word
};

// (argument & mask) == value.
struct ArgumentCheck {
  int argument = -1;  // none
  std::uint32_t value = 0;
  std::uint32_t mask = 0xffffffff;
  Width width = Width::kLow;
};

constexpr ArgumentCheck null_pointer(int argument) {
  return {argument, 0, 0xffffffff, Width::kBoth};
}

inline constexpr std::size_t kMostChecks = 3;

// One call; of several lines of one call, one must fit.
struct AllowedCall {
  long number;
  std::array<ArgumentCheck, kMostChecks> checks{};
};

#if defined(__x86_64__)
inline constexpr std::uint32_t kAuditArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
inline constexpr std::uint32_t kAuditArch = AUDIT_ARCH_AARCH64;
#else
#error "cay knows the system calls of x86-64 and arm64 only"
#endif

inline constexpr std::size_t kMostPerCall = 3 + 2 * 3 * kMostChecks;

struct FilterSpan {
  const sock_filter* code;
  std::size_t length;
};

template <std::size_t N>
struct AllowList {
  std::array<sock_filter, N * kMostPerCall + 5> code{};
  std::size_t length = 0;
  constexpr FilterSpan span() const { return {code.data(), length}; }
};

// A call that is not in `calls` gets the action `otherwise` (SECCOMP_RET_...). A call by another
// architecture's table kills the process.
template <std::size_t N>
constexpr AllowList<N> compile_allow_list(const std::array<AllowedCall, N>& calls,
                                          std::uint32_t otherwise) {
  AllowList<N> out;
  const auto stmt = [&out](int code, std::uint32_t k) {
    out.code[out.length++] = {static_cast<std::uint16_t>(code), 0, 0, k};
  };
  const auto unless = [&out](std::uint32_t k, std::size_t skip) {
    out.code[out.length++] = {BPF_JMP | BPF_JEQ | BPF_K, 0, static_cast<std::uint8_t>(skip), k};
  };
  const auto word = [&](std::size_t at, std::uint32_t mask, std::uint32_t value, std::size_t skip) {
    stmt(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(at));
    stmt(BPF_ALU | BPF_AND | BPF_K, mask);
    unless(value, skip);
  };
  stmt(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
  out.code[out.length++] = {BPF_JMP | BPF_JEQ | BPF_K, 1, 0, kAuditArch};
  stmt(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  stmt(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (const AllowedCall& call : calls) {
    std::size_t checks = 0;
    for (const ArgumentCheck& check : call.checks)
      checks += check.argument < 0 ? 0U : check.width == Width::kBoth ? 2U : 1U;
    // Each check of a word: load, mask, compare; then allow; and where something else was loaded,
    // the number again for the next line.
    const std::size_t reload = checks > 0 ? 1 : 0;
    unless(static_cast<std::uint32_t>(call.number), 3 * checks + 1 + reload);
    std::size_t left = checks;
    for (const ArgumentCheck& check : call.checks) {
      if (check.argument < 0) continue;
      const std::size_t low =
          offsetof(seccomp_data, args) +
          8 * static_cast<std::size_t>(check.argument);  // both machines: little-endian
      word(low, check.mask, check.value, 3 * --left + 1);
      if (check.width == Width::kBoth) word(low + 4, 0xffffffff, 0, 3 * --left + 1);
    }
    stmt(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    if (reload > 0) stmt(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  }
  stmt(BPF_RET | BPF_K, otherwise);
  return out;
}

// For the calling thread and what it makes from now on; it must have no_new_privs.
Result<void> load_syscall_filter(FilterSpan filter);
// The same without an allocation: false, with errno.
bool try_syscall_filter(FilterSpan filter);

}  // namespace cay::os
