// Capability sets by capset(2); no libcap. Only for single-threaded processes.
#pragma once
#include <linux/capability.h>

#include <cstdint>

namespace cay::os {

constexpr std::uint64_t cap_bit(int capability) { return std::uint64_t{1} << capability; }

// Permitted and effective become `keep` (bits by cap_bit), inheritable empty. False: errno is set.
bool set_capabilities(std::uint64_t keep);

// Empties the bounding set. Needs CAP_SETPCAP. False: errno is set.
bool drop_bounding_set();

}  // namespace cay::os
