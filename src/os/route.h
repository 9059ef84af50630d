// Where this host would send a packet: asked of the kernel, so that every address and rule of the moment counts.
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
