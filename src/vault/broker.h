// Broker: the process that alone holds the key to secrets.
//
// Clients send it closed values. It keeps which secrets each sandbox may use, and the gate passes
// it the connections whose requests need one. No request to the broker returns a value.
#pragma once
#include "vault/settings.h"

namespace cay::vault {

enum class Life : std::uint8_t {
  kAlways,       // under a supervisor of its own
  kWhileNeeded,  // while a daemon or a gate is connected
};

struct BrokerConfig {
  Settings settings;
  int directory = -1;  // DATA/vault, open
  Life life = Life::kAlways;
};

// Why it does not serve, in a line for whoever meets no broker: os::state_line. While it serves
// there is none.
inline constexpr const char* kRefusalFile = "refused";
inline constexpr const char* kDaemonSocket = "daemon.sock";
inline constexpr const char* kGateSocket = "gate.sock";

// Serves until it is not needed any more (then 0) or cannot go on; the exit code.
int run_broker(BrokerConfig config);

}  // namespace cay::vault
