// Gate: the process through which sandboxes reach what is outside. It finds them by the sockets that their keepers listen on
// in DATA/gate, as they come and after each start of its own; nothing tells it of them.
#pragma once
#include <cstdint>

#include "gate/settings.h"

namespace cay::gate {

enum class Life : std::uint8_t {
  kAlways,        // under a supervisor of its own
  kWhileNeeded,   // while a daemon holds DATA/gate/gate.sock open, or a sandbox lives
};

struct GateConfig {
  Settings settings;
  int directory = -1;  // DATA/gate, open
  int rules = -1;      // DATA/rules, open: what the daemon says about sandboxes' policies since they were started
  Life life = Life::kAlways;
  int asks = -1;  // the socket on which keepers are asked for (keeper_dialer.h); becomes ours
};

// Serves until it is not needed any more (then 0) or cannot go on; the exit code.
int run_gate(const GateConfig& config);

}  // namespace cay::gate
