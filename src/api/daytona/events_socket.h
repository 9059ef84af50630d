// The clients' channel for events, Socket.IO, which Cay does not have. A refusal by HTTP makes a
// client try again for minutes. A refusal in the channel's own words ends it at once, and the
// client polls.
#pragma once
#include "api/daytona/plane.h"

namespace cay::api::daytona {

// For everybody: clients send their key later, inside the channel.
void add_events_socket(PlaneRoutes& routes);

}  // namespace cay::api::daytona
