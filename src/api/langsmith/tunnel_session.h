// TunnelSession: one client's tunnel. Streams are served side by side. The reading side never waits
// for a stream, so one that stalls holds up no other.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "api/langsmith/tunnel_flow.h"
#include "api/langsmith/tunnel_receiver.h"
#include "api/langsmith/tunnel_sender.h"
#include "api/langsmith/yamux.h"
#include "async/scope.h"
#include "core/cay.h"
#include "http/exchange.h"
#include "model/principal.h"

namespace cay::api::langsmith {

class TunnelSession {
 public:
  TunnelSession(core::Cay& cay, Principal who, std::string ref,
                std::unique_ptr<http::WebSocket> socket, asio::any_io_executor executor);

  // Called for each connection that is made to a port.
  std::function<void(std::uint16_t port)> on_port;
  // Until the client goes, or breaks the protocol.
  asio::awaitable<void> run();

 private:
  using FlowPtr = std::shared_ptr<TunnelFlow>;

  asio::awaitable<void> receive_all();
  void take(const Yamux::Event& event);
  asio::awaitable<void> serve(Yamux::Id stream, FlowPtr flow);
  Task<std::unique_ptr<core::Tunnel>> open_port(std::uint16_t port);

  core::Cay& cay_;
  Principal who_;
  std::string ref_;
  std::unique_ptr<http::WebSocket> socket_;
  asio::any_io_executor executor_;
  Yamux yamux_;
  TunnelReceiver receiver_;
  TunnelSender sender_;
  std::map<Yamux::Id, FlowPtr> flows_;
  Scope work_;
};

}  // namespace cay::api::langsmith
