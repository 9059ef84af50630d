#include "gate/reachable.h"

#include "os/route.h"

namespace cay::gate {

Reachable::May Reachable::look_at(const IpAddress& address) const {
  if (is_closed(address)) return May::kNot;
  if (is_opened_by_itself(address, networks_)) return May::kDial;
  const auto kind = os::route_kind(address);
  if (!kind) return May::kUnknown;
  // A network that the operator opens is that of other machines, though this one has an address of
  // it.
  if (listed(address)) return *kind == os::RouteKind::kLocal ? May::kNot : May::kDial;
  // No route: the dial itself fails then.
  return *kind == os::RouteKind::kUnicast || *kind == os::RouteKind::kNone ? May::kDial : May::kNot;
}

}  // namespace cay::gate
