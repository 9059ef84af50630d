// The route that this host would use for a packet. The kernel is queried each time, so that the
// present addresses and rules count.
#pragma once
#include <cstdint>

#include "base/ip_address.h"
#include "base/result.h"

namespace cay::os {

enum class RouteKind : std::uint8_t {
  kUnicast,  // to another machine
  kLocal,    // to this one
  kOther,    // broadcast, multicast, prohibited, ...
  kNone,     // nowhere: there is no route
};

Result<RouteKind> route_kind(const IpAddress& to);

}  // namespace cay::os
