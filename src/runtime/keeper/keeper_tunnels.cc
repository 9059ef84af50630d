#include "runtime/keeper/keeper_tunnels.h"

#include <utility>

#include "runtime/keeper/keeper_calls.h"
#include "runtime/keeper/live_tunnel.h"

namespace cay::runtime {

Task<std::unique_ptr<core::Tunnel>> KeeperTunnels::open_tunnel(std::uint16_t port) {
  CAY_CO_CHECK(co_await line_->link(kAnswerLimit));
  const bool passes = local_ && line_->theirs().passes_sockets;
  auto opening = passes ? local_->open(port) : LiveTunnel::open(line_, port);
  auto tunnel = co_await std::move(opening);
  co_return std::move(tunnel);
}

}  // namespace cay::runtime
