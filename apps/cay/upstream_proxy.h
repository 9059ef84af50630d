// The proxy that the gate and the broker dial through, from the setting `network.upstream_proxy` or
// from this process's environment.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "gate/settings.h"

namespace cay::app {

// As getenv(3); null: it is not set.
using Environment = std::function<const char*(const char* name)>;

// Fills in `to`. `setting` is http://[USER:PASSWORD@]HOST[:PORT], "environment" (HTTPS_PROXY and
// NO_PROXY, as other programs read them), or empty. Fails kInvalidArgument (bad_config), without
// the address in its text, which may contain a password.
Result<void> set_upstream_proxy(gate::ProxySettings& to, const std::string& setting,
                                const std::vector<std::string>& no_proxy,
                                const Environment& environment);

// Returns the settings for a file: the password is replaced by its digest.
gate::ProxySettings without_password(gate::ProxySettings settings);

}  // namespace cay::app
