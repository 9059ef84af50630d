// What the network of a sandbox looks like from inside: agreed between who makes it (launcher) and who answers there (gate).
// docs/decisions/0015-the-way-out.md
#pragma once
#include <cstdint>

namespace cay::wire {

// The sandbox's own address: source of what it sends, and what its host name means. Never redirected. IPv4 from the block
// for hosts whose IPv4 is translated (RFC 7335), IPv6 from a unique local prefix: address selection (RFC 6724) then
// prefers IPv4 towards public names, and neither can be meant as a destination outside.
inline constexpr const char* kGuestV4 = "192.0.0.2";
inline constexpr const char* kGuestV6 = "fd63:6179:6761:7465::2";
// What /etc/resolv.conf inside names. Any other address answers DNS just as well.
inline constexpr const char* kGuestResolver = "192.0.0.1";
// Where the gate listens on the sandbox's own addresses, TCP and UDP: above the ephemeral range, and no known service's.
inline constexpr std::uint16_t kGatePort = 62617;

}  // namespace cay::wire
