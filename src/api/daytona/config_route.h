// The routes /config and /health, which need no key.
#pragma once
#include "api/daytona/config.h"
#include "api/daytona/plane.h"

namespace cay::api::daytona {

void add_config_routes(PlaneRoutes& routes, const DaytonaConfig& config);

}  // namespace cay::api::daytona
