// Tunnels: TCP into a sandbox, to what listens on its own loopback and nowhere else.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "async/task.h"
#include "core/ports/tunnel.h"
#include "model/principal.h"

namespace cay::core {

class Tunnels {
 public:
  virtual ~Tunnels() = default;
  // One connection; it wakes the sandbox, and keeps it awake while it lives. kInvalidArgument
  // (invalid_port); kNotReady (sandbox_paused); else as LiveSandbox::open_tunnel. A connection that
  // is open when its sandbox is paused waits for the resume.
  virtual Task<std::unique_ptr<Tunnel>> open(Principal who, std::string ref,
                                             std::uint16_t port) = 0;
  // Wakes the sandbox and keeps it awake for as long as the result lives: for a session of many
  // connections. Fails kNotReady (sandbox_paused) for a paused one.
  virtual Task<std::shared_ptr<void>> hold(Principal who, std::string ref) = 0;
};

}  // namespace cay::core
