// Notifications to a service manager (systemd), by the datagram protocol of sd_notify(3).
#pragma once
#include <string_view>

namespace cay::os {

// Sends `state` ("READY=1", "STOPPING=1", several by newline) to $NOTIFY_SOCKET. Without a manager:
// nothing. True if it was sent. A manager that does not take it is no reason to stop working.
bool notify_service_manager(std::string_view state);

}  // namespace cay::os
