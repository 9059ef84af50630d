// DATA/rules/ID.routes: what is the broker's of a sandbox, for a gate to know where no broker tells it. The daemon writes it before it tells the broker;
// without a file there is nothing.
#pragma once
#include <string>

#include "wire/vault.h"

namespace cay::wire {

inline constexpr const char* kRoutesSuffix = ".routes";

struct WrittenRoutes {
  BrokerRoutes routes;
  bool whole = false;  // the last member: of a file that was cut short it is missing
  template <class V> void fields(V& v) { v(1, routes); v(2, whole); }
};

}  // namespace cay::wire
