// TunnelStream: one TCP connection to a listener inside a sandbox, over a WebSocket of its own. The
// socket is read at all times. Credit limits the daemon's bytes, so memory is bounded and the
// connection's pings go through while nobody reads.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "async/scope.h"
#include "client/connection.h"

namespace cay::client {

class TunnelStream {
 public:
  // Wakes the sandbox if it is stopped. kNotReady "connect_refused": nothing listens on that port.
  static Task<std::unique_ptr<TunnelStream>> open(Connection& connection, std::string ref,
                                                  std::uint16_t port);
  ~TunnelStream();  // one that is not over is reset

  // Reading and writing may overlap; each has one caller at a time. Errors: kCancelled
  // "connection_reset" the program inside broke the connection; kUnavailable "connection_lost".
  Task<std::string> read();             // "": the program inside sends no more
  Task<void> write(std::string bytes);  // done when they are on their way: back-pressure
  Task<void> shut_write();              // the program inside reads to its end
  // Both sides have ended: waits, for a moment, until the daemon has seen it.
  asio::awaitable<void> part();

 private:
  struct State;
  explicit TunnelStream(std::shared_ptr<State> state);
  static asio::awaitable<void> receive(std::shared_ptr<State> state);

  std::shared_ptr<State> state_;
  Scope receiver_;
};

}  // namespace cay::client
