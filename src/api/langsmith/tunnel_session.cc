#include "api/langsmith/tunnel_session.h"

#include <utility>

#include "core/verbs/tunnels.h"

namespace cay::api::langsmith {
namespace {

constexpr int kNormalClosure = 1000;
constexpr int kProtocolErrorClosure = 1002;

}  // namespace

TunnelSession::TunnelSession(core::Cay& cay, Principal who, std::string ref,
                             std::unique_ptr<http::WebSocket> socket,
                             asio::any_io_executor executor)
    : cay_(cay),
      who_(std::move(who)),
      ref_(std::move(ref)),
      socket_(std::move(socket)),
      executor_(executor),
      receiver_(*socket_),
      sender_(*socket_, yamux_, executor),
      work_(executor) {}

asio::awaitable<void> TunnelSession::run() {
  work_.spawn(sender_.run());
  co_await work_.until(receive_all());
  const int code = yamux_.broken() ? kProtocolErrorClosure : kNormalClosure;
  co_await socket_->close(code, "");
}

asio::awaitable<void> TunnelSession::receive_all() {
  for (;;) {
    auto has_room = co_await sender_.wait_for_room();
    if (!has_room) co_return;
    const auto bytes = co_await receiver_.receive();
    if (!bytes) co_return;
    yamux_.feed(*bytes);
    while (const auto event = yamux_.next()) {
      if (event->kind == Yamux::Event::Kind::kGoAway) co_return;
      take(*event);
    }
    sender_.notify();
    if (yamux_.broken()) break;
  }
  co_await sender_.flush();  // a go-away, after broken rules
}

void TunnelSession::take(const Yamux::Event& event) {
  if (event.kind == Yamux::Event::Kind::kOpened) {
    // Streams that were reset are still here until their work is unwound.
    if (flows_.size() >= YamuxStreams::kMost) return yamux_.reset(event.stream);
    auto flow = std::make_shared<TunnelFlow>(event.stream, yamux_, sender_, executor_);
    flows_.emplace(event.stream, flow);
    return work_.spawn(serve(event.stream, std::move(flow)));
  }
  const auto found = flows_.find(event.stream);
  if (found == flows_.end()) return;
  TunnelFlow& flow = *found->second;
  switch (event.kind) {
    case Yamux::Event::Kind::kData: return flow.on_data(event.bytes);
    case Yamux::Event::Kind::kWindow: return flow.on_window();
    case Yamux::Event::Kind::kFin: return flow.on_fin();
    case Yamux::Event::Kind::kReset: return flow.on_reset();
    case Yamux::Event::Kind::kOpened:
    case Yamux::Event::Kind::kGoAway: return;
  }
}

asio::awaitable<void> TunnelSession::serve(Yamux::Id stream, FlowPtr flow) {
  TunnelFlow::OpenPort open = [this](std::uint16_t port) { return open_port(port); };
  auto done = co_await flow->run(std::move(open));
  if (!done) yamux_.reset(stream);
  flows_.erase(stream);
  sender_.notify();
}

Task<std::unique_ptr<core::Tunnel>> TunnelSession::open_port(std::uint16_t port) {
  auto opened = co_await cay_.tunnels().open(who_, ref_, port);
  if (opened && on_port) on_port(port);
  co_return opened;
}

}  // namespace cay::api::langsmith
