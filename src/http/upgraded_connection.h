// UpgradedConnection: the WebSocket or the raw stream that a request's connection has become, and
// how it ended.
#pragma once
#include <memory>
#include <string>

#include "http/channel.h"
#include "http/socket.h"

namespace cay::http {

class UpgradedConnection {
 public:
  void become(const std::shared_ptr<SocketCore>& socket) { socket_ = socket; }
  void become(const std::shared_ptr<Channel>& raw) { raw_ = raw; }

  // Closes a WebSocket with `code` and `why`, and resets a raw stream. Returns false if it is
  // neither, or has gone. The reason is kept in all cases.
  asio::awaitable<bool> end(int code, std::string why);
  const std::string& why() const { return why_; }

  // Called when the raw stream has ended. `whole`: both sides had ended it before.
  void note_raw_end(bool whole);
  void note_end(std::string how) { ended_ = std::move(how); }
  // Empty: it has not, or nobody knows.
  const std::string& how_it_ended() const { return ended_; }

 private:
  std::weak_ptr<SocketCore> socket_;  // what it became, or
  std::weak_ptr<Channel> raw_;
  std::string why_;
  std::string ended_;
};

}  // namespace cay::http
