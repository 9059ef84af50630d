// Bytes whose order shows: a lost, doubled or swapped block is seen.
#pragma once
#include <cstddef>
#include <string>

namespace cay::http::testing {

inline std::string pattern(std::size_t size) {
  std::string out(size, '\0');
  for (std::size_t i = 0; i < size; ++i) out[i] = static_cast<char>(i * 7 + i / 251);
  return out;
}

}  // namespace cay::http::testing
