#include "gate/reachable.h"

#include "os/route.h"

namespace cay::gate {

Reachable::May Reachable::look_at(const IpAddress& address) const {
  if (listed(address)) return May::kDial;
  if (is_closed(address)) return May::kNot;
  const auto kind = os::route_kind(address);
  if (!kind) return May::kUnknown;
  // No route: the dial itself will say so.
  return *kind == os::RouteKind::kUnicast || *kind == os::RouteKind::kNone ? May::kDial : May::kNot;
}

}  // namespace cay::gate
