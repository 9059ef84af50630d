// Header sums of a tar as they should be: what guards against torn tapes must not keep a fuzzer
// out.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace cay::fuzz {

// Sets the sum of every header that is reached by going from one to the next, by the sizes in them.
// A fuzzer should not learn from these comparisons, and watching them took half of the time.
__attribute__((no_sanitize("coverage", "address", "undefined"))) inline std::string with_tar_sums(
    std::string_view archive) {
  constexpr std::size_t kBlock = 512, kSum = 148, kSumSize = 8, kSize = 124, kSizeDigits = 11;
  std::string out(archive);
  for (std::size_t at = 0; at + kBlock <= out.size();) {
    unsigned total = 0;
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < kBlock; ++i)
      total += i >= kSum && i < kSum + kSumSize ? ' ' : static_cast<unsigned char>(out[at + i]);
    if (total == kSumSize * ' ') break;  // all of it zeros: the end
    char text[kSumSize + 1];
    std::snprintf(text, sizeof text, "%06o", total);
    out.replace(at + kSum, kSumSize, std::string(text, 6) + std::string("\0 ", 2));
    for (std::size_t i = 0; i < kSizeDigits; ++i) {
      const char digit = out[at + kSize + i];
      if (digit >= '0' && digit <= '7') size = size * 8 + static_cast<std::uint64_t>(digit - '0');
    }
    if (size > out.size()) break;
    at += kBlock + (static_cast<std::size_t>(size) + kBlock - 1) / kBlock * kBlock;
  }
  return out;
}

}  // namespace cay::fuzz
