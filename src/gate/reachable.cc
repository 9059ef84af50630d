#include "gate/reachable.h"

#include <algorithm>

#include "os/route.h"

namespace cay::gate {

bool Reachable::listed(const IpAddress& address) const {
  const bool alone = is_metadata(address);
  return std::ranges::any_of(networks_, [&](const Network& network) { return network.contains(address) && (!alone || network.is_one_address()); });
}

Reachable::May Reachable::look_at(const IpAddress& address) const {
  if (listed(address)) return May::kDial;
  if (is_closed(address)) return May::kNot;
  const auto kind = os::route_kind(address);
  if (!kind) return May::kUnknown;
  // No route: the dial itself will say so.
  return *kind == os::RouteKind::kUnicast || *kind == os::RouteKind::kNone ? May::kDial : May::kNot;
}

}  // namespace cay::gate
