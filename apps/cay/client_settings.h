// Client commands on the machine of an installed daemon: its settings say where it listens.
#pragma once

namespace cay::app {

// For whoever may read /etc/cay/cay.toml (root and the daemon's user), unless CAY_URL or CAY_DATA says otherwise: sets CAY_URL and
// CAY_DATA in the environment to what the settings say. Settings that cannot be read change nothing.
void follow_installed_settings();

}  // namespace cay::app
