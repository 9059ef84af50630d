// The toolbox: what the vendor's program inside a sandbox serves. Files, programs, sessions,
// terminals, git and more (protocol reference, sections 3 to 10).
#pragma once
#include "api/daytona/config.h"
#include "api/daytona/plane.h"

namespace cay::api::daytona {

// Adds every route below kToolboxPrefix + "/{id}". `routes` has that prefix: a path begins with
// "/files".
void add_toolbox_routes(PlaneRoutes& routes, const DaytonaConfig& config);

}  // namespace cay::api::daytona
