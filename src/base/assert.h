// CAY_ASSERT ends the process if a condition is false that only a bug can break. Release builds
// keep the check, because no answer is better than a wrong one.
#pragma once
#include <cstdio>
#include <cstdlib>

#define CAY_ASSERT(cond)                                                                     \
  do {                                                                                       \
    if (!(cond)) {                                                                           \
      std::fprintf(stderr, "cay: %s:%d: assertion failed: %s\n", __FILE__, __LINE__, #cond); \
      std::abort();                                                                          \
    }                                                                                        \
  } while (false)
