#include "api/langsmith/tunnel.h"

#include <boost/asio/this_coro.hpp>
#include <cstdint>
#include <set>
#include <string>

#include "api/common/subjects.h"
#include "api/langsmith/errors.h"
#include "api/langsmith/tunnel_session.h"
#include "core/verbs/sandboxes.h"
#include "core/verbs/tunnels.h"
#include "model/ids.h"

namespace cay::api::langsmith {
namespace {

constexpr std::size_t kMaxMessage = 1 << 20;

struct HeldBox {
  SandboxId id;
  std::shared_ptr<void> hold;
};

// By id from here on: the name may be another sandbox's while the tunnel is open.
Task<HeldBox> hold_box(core::Cay& cay, Principal who, std::string ref) {
  CAY_CO_TRY(Sandbox box, co_await cay.sandboxes().get(who, std::move(ref)));
  CAY_CO_TRY(auto hold, co_await cay.tunnels().hold(std::move(who), box.id.get()));
  co_return HeldBox{std::move(box.id), std::move(hold)};
}

asio::awaitable<void> serve_tunnel(core::Cay& cay, ExchangePtr exchange) {
  const Principal who = exchange->principal();
  const std::string ref = exchange->params().at("name");
  if (!exchange->head().wants_websocket) {
    auto response =
        envelope(400, "InvalidRequest",
                 "this is a WebSocket endpoint: connect with Upgrade: websocket", new_uuid());
    co_await exchange->respond(std::move(response));
    co_return;
  }
  // An open tunnel keeps the sandbox awake, with connections on it or without.
  auto hold = co_await hold_box(cay, who, ref);
  if (!hold) {
    const auto error_id = note_error(hold.error());
    const bool gone = hold.error().code == Code::kNotFound;
    auto response =
        gone ? control_error(hold.error(), error_id) : not_ready_upgrade(hold.error(), error_id);
    co_await exchange->respond(std::move(response));
    co_return;
  }
  auto socket = co_await exchange->upgrade(kMaxMessage);
  if (!socket) co_return;
  auto executor = co_await asio::this_coro::executor;
  TunnelSession session(cay, who, hold->id.get(), *std::move(socket), executor);
  session.on_port = [exchange, ports = std::set<std::uint16_t>(),
                     subjects = Subjects("ports")](std::uint16_t port) mutable {
    if (!ports.insert(port).second) return;
    subjects.add(std::to_string(port));
    exchange->note_subject(subjects.text());
  };
  co_await session.run();
}

}  // namespace

http::Handler tunnel_ws(core::Cay& cay) {
  return [&cay](ExchangePtr exchange) { return serve_tunnel(cay, std::move(exchange)); };
}

}  // namespace cay::api::langsmith
