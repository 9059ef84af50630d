// DATA/rules/ID.routes: the hosts of a sandbox that are the broker's, for a gate without a broker.
// The daemon writes it before it informs the broker. Without a file there are none.
#pragma once
#include <string>

#include "wire/vault.h"

namespace cay::wire {

inline constexpr const char* kRoutesSuffix = ".routes";

struct WrittenRoutes {
  BrokerRoutes routes;
  bool whole = false;  // the last member: of a file that was cut short it is missing
  template <class V>
  void fields(V& v) {
    v(1, routes);
    v(2, whole);
  }
};

}  // namespace cay::wire
