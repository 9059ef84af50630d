// DATA/rules/ID.routes (wire/routes_file.h), as the daemon writes it.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/vault.h"

namespace cay::vault {

// Replaces the sandbox's; without hosts, fences and base_url: removes it. Whether that changed
// anything. kUnavailable (policy_not_in_force): nothing was changed.
Result<bool> write_routes(const std::string& data, const wire::BrokerRoutes& routes);
// The ids of sandboxes that have one.
std::vector<std::string> routes_written(const std::string& data);

}  // namespace cay::vault
