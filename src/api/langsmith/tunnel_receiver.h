// TunnelReceiver: reads the bytes that the client of one tunnel session sends, into one buffer.
//
// Many sessions are open and send nothing. Only a client that fills its buffer gets a large one,
// for as long as it needs it.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "http/exchange.h"
#include "http/piped_socket.h"

namespace cay::api::langsmith {

class TunnelReceiver {
 public:
  // `socket` is the session's, and outlives this.
  explicit TunnelReceiver(http::WebSocket& socket);

  // Returns the next bytes, which stay until the next call. Nothing: the client has gone.
  asio::awaitable<std::optional<std::string_view>> receive();

 private:
  asio::awaitable<std::optional<std::string_view>> receive_message();
  void fit_buffer();

  http::WebSocket& socket_;
  http::PipedSocket* piped_;  // the same; null: it is none
  std::string buffer_;
  std::size_t read_ = 0;    // of it, the last time
  int small_in_a_row_ = 0;  // ... which a small one would do for
};

}  // namespace cay::api::langsmith
