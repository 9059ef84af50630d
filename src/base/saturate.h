// Arithmetic that stops at the ends of its type: for numbers that a guest or a peer chose.
#pragma once
#include <cstdint>
#include <limits>

namespace cay {

constexpr std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (!__builtin_mul_overflow(a, b, &out)) return out;
  return (a < 0) == (b < 0) ? std::numeric_limits<std::int64_t>::max()
                            : std::numeric_limits<std::int64_t>::min();
}

constexpr std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (!__builtin_add_overflow(a, b, &out)) return out;
  return a < 0 ? std::numeric_limits<std::int64_t>::min()
               : std::numeric_limits<std::int64_t>::max();
}

}  // namespace cay
