#include "providers/claim_name.h"

#include <algorithm>

#include "base/sha256.h"

namespace cay::providers {

std::string claim_name(const std::string& claim) {
  constexpr std::size_t kMostName = 48;
  std::string out;
  for (const char c : claim) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain || !(out.empty() || out.ends_with('-'))) out += plain ? c : '-';
  }
  if (out == claim && out.size() <= kMostName && !out.ends_with('-')) return out;
  out.resize(std::min(out.size(), kMostName));
  while (out.ends_with('-')) out.pop_back();
  if (out.empty() || out.front() < 'a') out.insert(0, "c");
  return out + "-" + sha256_hex(claim).substr(0, 8);
}

}  // namespace cay::providers
