// The network of a sandbox from inside: the launcher makes it and the gate answers there, by these
// agreed values. docs/decisions/0015-the-way-out.md
#pragma once
#include <cstdint>

namespace cay::wire {

// The sandbox's own address: the source of what it sends, and the address of its host name. Never
// redirected. IPv4 is from the block for hosts whose IPv4 is translated (RFC 7335), IPv6 from a
// unique local prefix. So address selection (RFC 6724) prefers IPv4 towards public names, and
// neither can be meant as a destination outside.
inline constexpr const char* kGuestV4 = "192.0.0.2";
inline constexpr const char* kGuestV6 = "fd63:6179:6761:7465::2";
// The server in /etc/resolv.conf inside. Any other address answers DNS just as well.
inline constexpr const char* kGuestResolver = "192.0.0.1";
// The gate's port on the sandbox's own addresses, TCP and UDP: above the ephemeral range, and no
// known service's.
inline constexpr std::uint16_t kGatePort = 62617;

}  // namespace cay::wire
