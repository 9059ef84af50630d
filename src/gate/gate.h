// Gate: the process through which sandboxes reach the outside. It finds them by their keepers'
// sockets in DATA/gate, as they come and when it starts. Nobody announces them.
#pragma once
#include <cstdint>

#include "gate/settings.h"

namespace cay::gate {

enum class Life : std::uint8_t {
  kAlways,       // under a supervisor of its own
  kWhileNeeded,  // while a daemon holds DATA/gate/gate.sock open, or a sandbox lives
};

struct GateConfig {
  Settings settings;
  int directory = -1;  // DATA/gate, open
  int rules = -1;      // DATA/rules, open: the daemon's changes to policies since the sandboxes
                       // were started
  Life life = Life::kAlways;
  int asks = -1;  // the socket to the keeper dialer (keeper_dialer.h); becomes ours
};

// Serves until it is not needed any more (then 0) or cannot go on; the exit code.
int run_gate(const GateConfig& config);

}  // namespace cay::gate
