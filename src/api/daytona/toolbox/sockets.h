// WebSockets whose clients only listen.
#pragma once
#include <memory>

#include "api/common/answer.h"

namespace cay::api::daytona {

// Accepts the upgrade, with the subprotocol in which browsers send their version.
Task<std::shared_ptr<http::WebSocket>> listener_socket(ExchangePtr exchange,
                                                       std::size_t max_message);

// Runs `work` until it ends, or the client goes. Pings are answered meanwhile.
asio::awaitable<void> while_open(std::shared_ptr<http::WebSocket> socket,
                                 asio::awaitable<void> work);
// The same without any work.
asio::awaitable<void> until_closed(std::shared_ptr<http::WebSocket> socket);

}  // namespace cay::api::daytona
