// Reachable decides which addresses the gate may dial at all, whatever a policy allows. Special
// ranges (base/ip_address.h) are open if the operator lists them. This host's own addresses are
// open if the operator lists that address itself. It decides by address, after resolution.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "base/ip_address.h"

namespace cay::gate {

// Special ranges are reached only where one of `networks` holds the address.
class Reachable {
 public:
  explicit Reachable(std::vector<Network> networks) : networks_(std::move(networks)) {}
  bool listed(const IpAddress& address) const { return is_opened(address, networks_); }
  // Whether the address is special and not listed. Does not query the kernel.
  bool is_closed(const IpAddress& address) const { return is_special(address) && !listed(address); }
  enum class May : std::uint8_t {
    kDial,  // not special or listed, and not this host's own; or listed by itself
    kNot,
    kUnknown,  // the kernel could not be queried: not dialled, and no rule refused it
  };
  May look_at(const IpAddress& address) const;

 private:
  std::vector<Network> networks_;
};

}  // namespace cay::gate
