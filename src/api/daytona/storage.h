// The store of build contexts, as clients of S3 see it: as much of that protocol as Daytona's SDKs
// send. The session token of the credentials is the client's own API key.
#pragma once
#include <memory>

#include "api/daytona/control.h"

namespace cay::api::daytona {

inline constexpr const char* kStoragePrefix = "/daytona/storage";

// Declares the store to the server, and adds its routes and that of its credentials.
void add_storage_routes(PlaneRoutes& routes, std::shared_ptr<Control> control);

}  // namespace cay::api::daytona
