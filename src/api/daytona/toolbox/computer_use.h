// Desktops: Cay's sandboxes have none yet. Every route refuses with a reason.
#pragma once
#include "api/daytona/plane.h"

namespace cay::api::daytona {

void add_computer_use_routes(PlaneRoutes& routes);

}  // namespace cay::api::daytona
