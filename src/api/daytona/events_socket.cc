#include "api/daytona/events_socket.h"

#include <memory>
#include <string>

#include "async/deadline.h"

namespace cay::api::daytona {
namespace {

namespace json = codec::json;

constexpr const char* kNoEvents =
    "Cay has no Socket.IO: the client asks for the state instead, which it does by itself";
constexpr std::size_t kMostMessage = 4096;  // of the client's own greeting
constexpr Millis kFarewell{5000};
constexpr int kNormalClosure = 1000;
// The kinds of a packet: Engine.IO's "open", and in its "message" Socket.IO's "connection error".
constexpr const char* kOpen = "0";
constexpr const char* kConnectError = "44";

std::string opening() {
  return kOpen + codec::write(json::object{{"sid", "none"},
                                           {"upgrades", json::array()},
                                           {"pingInterval", 25'000},
                                           {"pingTimeout", 20'000},
                                           {"maxPayload", kMostMessage}});
}

Task<void> client_gone(std::shared_ptr<http::WebSocket> socket) {
  for (;;) {
    const auto got = co_await socket->read();
    if (got.kind == http::WsMessage::Kind::kClosed) co_return Result<void>();
  }
}

// The client closes: one that is closed would come again.
Task<void> refuse_events(core::Cay&, ExchangePtr exchange) {
  if (!exchange->head().wants_websocket)
    co_return Error{Code::kUnsupported, "not_here", kNoEvents, 0};
  CAY_CO_TRY(auto upgraded, co_await exchange->upgrade(kMostMessage));
  const std::shared_ptr<http::WebSocket> socket(std::move(upgraded));
  CAY_CO_CHECK(co_await socket->send_text(opening()));
  CAY_CO_CHECK(co_await socket->send_text(kConnectError +
                                          codec::write(json::object{{"message", kNoEvents}})));
  const auto gone = co_await with_deadline(client_gone(socket), kFarewell, "the client's end");
  static_cast<void>(gone);
  co_await socket->close(kNormalClosure, "");
  co_return Result<void>();
}

}  // namespace

void add_events_socket(PlaneRoutes& routes) {
  routes.add_stream("GET", "/socket.io/", refuse_events, http::Auth::kNone);
}

}  // namespace cay::api::daytona
