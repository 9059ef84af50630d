// Capability sets by capset(2); no libcap. Only for single-threaded processes. Async-signal-safe.
#pragma once
#include <linux/capability.h>

#include <cstdint>

namespace cay::os {

constexpr std::uint64_t cap_bit(int capability) { return std::uint64_t{1} << capability; }

// Permitted and effective become `keep` (bits by cap_bit), inheritable empty. False: errno is set.
bool set_capabilities(std::uint64_t keep);

// Takes all but `keep` out of the bounding set. Needs CAP_SETPCAP where there is something to take. False: errno is
// set.
bool drop_bounding_set(std::uint64_t keep = 0);

// For good, and for everything that this process starts: of the bounding, permitted and effective sets what is in
// `keep` and was there before, nothing in the inheritable and ambient ones. A user namespace made later has all of its
// own, as ever. Fails as drop_bounding_set() does.
bool give_up_all_but(std::uint64_t keep);

}  // namespace cay::os
