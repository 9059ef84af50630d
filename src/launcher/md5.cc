#include "launcher/md5.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace cay::launcher {
namespace {

using Words = std::array<std::uint32_t, 4>;

constexpr std::size_t kBlock = 64;
constexpr std::array<std::array<int, 4>, 4> kShift = {
    {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};

// The constants by their definition: the integer part of 2^32 * |sin(i + 1)|.
std::array<std::uint32_t, kBlock> sines() {
  std::array<std::uint32_t, kBlock> out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] =
        static_cast<std::uint32_t>(std::fabs(std::sin(static_cast<double>(i + 1))) * 4294967296.0);
  }
  return out;
}

void absorb(Words& state, std::string_view block) {
  static const auto kSines = sines();
  std::array<std::uint32_t, 16> word{};
  for (std::size_t i = 0; i < kBlock; ++i)
    word[i / 4] |= std::uint32_t{static_cast<unsigned char>(block[i])} << (8 * (i % 4));
  auto [a, b, c, d] = state;
  for (std::size_t i = 0; i < kBlock; ++i) {
    std::uint32_t mixed = 0;
    std::size_t from = 0;
    switch (i / 16) {
      case 0: mixed = (b & c) | (~b & d), from = i; break;
      case 1: mixed = (d & b) | (~d & c), from = (5 * i + 1) % 16; break;
      case 2: mixed = b ^ c ^ d, from = (3 * i + 5) % 16; break;
      default: mixed = c ^ (b | ~d), from = (7 * i) % 16; break;
    }
    const std::uint32_t sum = a + mixed + kSines[i] + word[from];
    a = d, d = c, c = b;
    b += std::rotl(sum, kShift[i / 16][i % 4]);
  }
  const Words delta = {a, b, c, d};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += delta[i];
}

}  // namespace

std::string md5_hex(std::string_view bytes) {
  Words state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  std::string tail(bytes.substr(bytes.size() / kBlock * kBlock));
  tail += '\x80';
  while (tail.size() % kBlock != kBlock - 8) tail += '\0';
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (int i = 0; i < 8; ++i) tail += static_cast<char>(bits >> (8 * i) & 0xff);
  for (std::size_t at = 0; at + kBlock <= bytes.size(); at += kBlock)
    absorb(state, bytes.substr(at, kBlock));
  for (std::size_t at = 0; at < tail.size(); at += kBlock)
    absorb(state, std::string_view(tail).substr(at, kBlock));
  std::string out;
  for (const std::uint32_t word : state) {
    for (int i = 0; i < 4; ++i) {
      const auto byte = static_cast<unsigned char>(word >> (8 * i) & 0xff);
      out += "0123456789abcdef"[byte >> 4];
      out += "0123456789abcdef"[byte & 15];
    }
  }
  return out;
}

}  // namespace cay::launcher
