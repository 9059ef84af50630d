// Few words for many routes: metrics must not grow with the API.
#pragma once
#include <string>
#include <string_view>

namespace cay::server {

// Returns the class of a route's pattern: daemon, events, sandboxes, commands, files, services, mcp
// or langsmith. Returns none for "".
std::string_view route_class(std::string_view pattern);

}  // namespace cay::server
