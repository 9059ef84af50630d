// CAY_ASSERT: what only a bug can break. Kept in release builds: a wrong answer is worse than none.
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
