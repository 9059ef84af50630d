// GuestNetwork: makes a sandbox's loopback the beginning of a way out. Every address but its own is
// local there, so that a connection to any of them can be redirected to the gate's sockets. Ranges
// that nobody may reach have routes that refuse at once. Everything that is neither TCP nor DNS is
// rejected. docs/decisions/0015-the-way-out.md
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::launcher {

// How the message of a set-up that the kernel has no parts for begins.
inline constexpr const char* kNoNetwork = "this host's kernel cannot give a sandbox a way out";

// Netlink messages, the same for every sandbox with the same `allowed`: built once.
struct GuestNetwork {
  struct Routes {
    std::string
        rules;  // rtnetlink: connections to a special range reach the gate, which reports them
    std::string told;    // the routes, behind `rules`
    std::string silent;  // the routes for a kernel without such rules: it refuses by itself
  };
  Routes v4, v6;
  std::string filter;  // nf_tables
};

// `allowed`: networks in special ranges that the operator opens ("10.1.0.0/16"). kInvalidArgument:
// one is none.
Result<GuestNetwork> plan_guest_network(const std::vector<std::string>& allowed);

// Both are of the current network namespace, which must be new, and need CAP_NET_ADMIN over it.

// lo, up and with the sandbox's own addresses: of every sandbox, so that its host name means the
// same under every policy.
Result<void> set_up_loopback();

// After set_up_loopback(). Returns the sockets that the gate answers on: TCP and UDP of IPv4, then
// the same of IPv6 where there is IPv6. Fails kUnsupported (network_unsupported) where the kernel
// lacks a part: nothing outside is reached then, and loopback works.
Result<std::vector<UniqueFd>> set_up_guest_network(const GuestNetwork& plan);

}  // namespace cay::launcher
