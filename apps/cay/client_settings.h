// Client commands on the machine of an installed daemon find its address in its settings.
#pragma once

namespace cay::app {

// Sets CAY_URL and CAY_DATA in the environment from /etc/cay/cay.toml, unless one of them is set.
// Only root and the daemon's user may read these settings. Settings that cannot be read change
// nothing.
void follow_installed_settings();

}  // namespace cay::app
