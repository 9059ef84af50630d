// VaultConfig: the section [vault] of the settings, and what follows from it for the broker.
#pragma once
#include <sys/types.h>

#include <string>

#include "base/result.h"
#include "network_config.h"
#include "vault/settings.h"

namespace cay::app {

struct VaultConfig {
  std::string passphrase_file;           // empty: the key is a file, DATA/vault/key
  std::string previous_passphrase_file;  // while the passphrase changes
  std::string ca_file;                   // authorities trusted beside the system's, PEM
};

// Reads the files, as whoever we are now.
Result<vault::Settings> broker_settings(const VaultConfig& config, const NetworkConfig& network,
                                        const std::string& data, uid_t daemon, uid_t gate);

}  // namespace cay::app
