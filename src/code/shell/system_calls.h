// System calls of the shell driver, which has no C library: it must run in any image.
#pragma once
#include <sys/syscall.h>

#include <cstddef>
#include <cstdint>

namespace cay::shell {

// Returns what the kernel does: a negative errno on failure.
inline long system_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
#if defined(__x86_64__)
  long result = 0;
  register long fourth __asm__("r10") = d;
  register long fifth __asm__("r8") = e;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth)
                   : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long name __asm__("x8") = number;
  register long first __asm__("x0") = a;
  register long second __asm__("x1") = b;
  register long third __asm__("x2") = c;
  register long fourth __asm__("x3") = d;
  register long fifth __asm__("x4") = e;
  __asm__ volatile("svc #0"
                   : "+r"(first)
                   : "r"(name), "r"(second), "r"(third), "r"(fourth), "r"(fifth)
                   : "memory");
  return first;
#else
#error "the shell driver has no system calls for this architecture"
#endif
}

inline long address(const void* of) { return reinterpret_cast<long>(of); }

}  // namespace cay::shell
