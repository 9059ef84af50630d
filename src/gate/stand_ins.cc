#include "gate/stand_ins.h"

#include <array>

namespace cay::gate {
namespace {

constexpr std::uint64_t kPrime = 1099511628211ULL;  // of FNV-1a, 64 bits
constexpr std::uint64_t kBasis = 14695981039346656037ULL;

}  // namespace

IpAddress stand_in_of(std::string_view name, std::uint8_t first, std::uint8_t mask) {
  std::uint64_t hash = kBasis;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  const std::array<std::uint8_t, 4> bytes = {
      static_cast<std::uint8_t>(first | ((hash >> 24) & mask)),
      static_cast<std::uint8_t>(hash >> 16), static_cast<std::uint8_t>(hash >> 8),
      static_cast<std::uint8_t>(hash)};
  return IpAddress::v4(bytes);
}

IpAddress asked_stand_in(std::string_view name) { return stand_in_of(name, 248, 3); }

bool is_asked_stand_in(const IpAddress& address) {
  static const Network all = *Network::parse("248.0.0.0/6");
  return all.contains(address);
}

}  // namespace cay::gate
