// Capability sets by capset(2); no libcap. Only for single-threaded processes. Async-signal-safe.
#pragma once
#include <linux/capability.h>

#include <cstdint>

namespace cay::os {

constexpr std::uint64_t cap_bit(int capability) { return std::uint64_t{1} << capability; }

// Permitted and effective become `keep` (bits by cap_bit), inheritable empty. False: errno is set.
bool set_capabilities(std::uint64_t keep);

// Takes all but `keep` out of the bounding set. Needs CAP_SETPCAP where there is something to take.
// False: errno is set.
bool drop_bounding_set(std::uint64_t keep = 0);

// Gives up capabilities for good, for this process and all that it starts. The bounding, permitted
// and effective sets keep what is in `keep` and was there before. The inheritable and ambient sets
// become empty. A user namespace made later has all of its own. Fails as drop_bounding_set() does.
bool give_up_all_but(std::uint64_t keep);

}  // namespace cay::os
