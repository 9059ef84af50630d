// held_bytes() returns how many bytes of this process's heap are allocated at the moment, by
// whatever code. For tests.
#pragma once
#include <malloc.h>

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define CAY_SANITIZED_MEMORY
extern "C" std::size_t __sanitizer_get_current_allocated_bytes();  // NOLINT: its name
#endif
#endif

namespace cay::testing {

inline std::size_t held_bytes() {
#ifdef CAY_SANITIZED_MEMORY
  return __sanitizer_get_current_allocated_bytes();
#else
  const auto all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
#endif
}

}  // namespace cay::testing
