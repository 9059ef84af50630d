// The proxy that the gate and the broker go out by, from the setting `network.upstream_proxy` or from what this process's environment says.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gate/settings.h"

namespace cay::app {

// As getenv(3); null: it is not set.
using Environment = std::function<const char*(const char* name)>;

// `setting`: http://[USER:PASSWORD@]HOST[:PORT], "environment" (HTTPS_PROXY and NO_PROXY, as programs take them), or nothing.
// Fills in what it says. kInvalidArgument (bad_config), in words without the address, which may hold a password.
Result<void> set_upstream_proxy(gate::ProxySettings& to, const std::string& setting, const std::vector<std::string>& no_proxy, const Environment& environment);

// As it may stand in a file: a password is told by its digest alone.
gate::ProxySettings without_password(gate::ProxySettings settings);

}  // namespace cay::app
