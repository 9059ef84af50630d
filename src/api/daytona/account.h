// The routes about organizations, regions, keys and telemetry. The tenant of a key is the one
// organization, and this host the one region. Routes that mean nothing here are refused with the
// reason.
#pragma once
#include "api/daytona/plane.h"

namespace cay::api::daytona {

void add_account_routes(PlaneRoutes& routes);

}  // namespace cay::api::daytona
