#include "api/daytona/toolbox/sockets.h"

#include <boost/asio/this_coro.hpp>
#include <utility>

#include "api/daytona/toolbox/errors.h"
#include "api/daytona/toolbox/mux.h"
#include "async/scope.h"

namespace cay::api::daytona {

Task<std::shared_ptr<http::WebSocket>> listener_socket(ExchangePtr exchange,
                                                       std::size_t max_message) {
  if (!exchange->head().wants_websocket)
    co_return vendor_error(kBadRequest, "this route is a WebSocket: connect with an Upgrade");
  const auto offered = offered_protocol(exchange->head(), "X-Daytona-SDK-Version~");
  if (offered) exchange->choose_protocol(*offered);
  CAY_CO_TRY(auto socket, co_await exchange->upgrade(max_message));
  co_return std::shared_ptr<http::WebSocket>(std::move(socket));
}

asio::awaitable<void> until_closed(std::shared_ptr<http::WebSocket> socket) {
  for (;;) {
    const auto got = co_await socket->read();
    if (got.kind == http::WsMessage::Kind::kClosed) co_return;
  }
}

asio::awaitable<void> while_open(std::shared_ptr<http::WebSocket> socket,
                                 asio::awaitable<void> work) {
  Scope working(co_await asio::this_coro::executor);
  working.spawn(std::move(work));
  co_await working.until(until_closed(std::move(socket)));
}

}  // namespace cay::api::daytona
