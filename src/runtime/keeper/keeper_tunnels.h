// KeeperTunnels: the LiveTunnels role over a keeper's connection, or by a shorter way that the
// runtime has because keeper and daemon share a host.
#pragma once
#include <memory>
#include <utility>

#include "core/ports/live_sandbox.h"
#include "runtime/keeper/persistent_link.h"

namespace cay::runtime {

// Tunnels that do not go over the keeper's connection: the runtime gives them, if it has any.
class LocalTunnels {
 public:
  virtual ~LocalTunnels() = default;
  // Errors as LiveTunnels::open_tunnel(). Called only if the keeper's HELLO has passes_sockets.
  virtual Task<std::unique_ptr<core::Tunnel>> open(std::uint16_t port) = 0;
  // Breaks every tunnel: its calls fail with `why`.
  virtual void close(const Error& why) = 0;
};

class KeeperTunnels : public virtual core::LiveTunnels {
 public:
  // `local` may be null: then the keeper's connection carries the bytes, under credit.
  KeeperTunnels(std::shared_ptr<PersistentLink> line, std::shared_ptr<LocalTunnels> local)
      : line_(std::move(line)), local_(std::move(local)) {}

  Task<std::unique_ptr<core::Tunnel>> open_tunnel(std::uint16_t port) override;

 private:
  std::shared_ptr<PersistentLink> line_;
  std::shared_ptr<LocalTunnels> local_;
};

}  // namespace cay::runtime
