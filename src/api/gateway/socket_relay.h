// SocketRelay: a WebSocket between a client and its service, from the handshake on. Bytes pass as
// they are. When the right to it ends, the client gets a close frame of ours between two of the
// service's.
#pragma once
#include <functional>
#include <string>

#include "api/gateway/socket_frames.h"
#include "async/event.h"
#include "async/task.h"

namespace cay::api {

struct RelayEnd {
  int code = 1008;
  std::string reason;
};

class SocketRelay {
 public:
  // How long the service has to finish a frame, and then the client to part.
  static constexpr Millis kParting{500};

  // Both outlive it.
  SocketRelay(ByteStream& client, ByteStream& service, asio::any_io_executor executor)
      : client_(client),
        service_(service),
        executor_(executor),
        over_(executor),
        changed_(executor) {}

  // Runs until both directions have ended, or one broke, or `cut` is set: then `end` returns the
  // reason.
  asio::awaitable<void> run(Event& cut, std::function<RelayEnd()> end);

 private:
  asio::awaitable<void> up();
  asio::awaitable<void> down();
  Task<void> pass_down();
  asio::awaitable<void> watch(Event& cut);
  asio::awaitable<void> until_settled();
  Task<void> part(RelayEnd end);
  void finished(bool whole);

  ByteStream& client_;
  ByteStream& service_;
  asio::any_io_executor executor_;
  SocketFrames frames_;   // of the service's
  bool writing_ = false;  // to the client
  bool cut_ = false, broken_ = false;
  int ended_ = 0;  // directions
  Event over_, changed_;
};

}  // namespace cay::api
