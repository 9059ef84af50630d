// ClientWatch: cancels the handler of a request whose client goes away meanwhile.
#pragma once
#include <memory>

#include "http/body_reader.h"
#include "http/channel.h"

namespace cay::http {

// One for all connections of a listener. Most requests are over before it looks at theirs, so that
// they cost nothing.
class ClientWatch {
 public:
  explicit ClientWatch(asio::any_io_executor loop);
  ~ClientWatch();
  ClientWatch(const ClientWatch&) = delete;
  ClientWatch& operator=(const ClientWatch&) = delete;

  // Runs `work` for the request whose body is `body`, and throws what it threw. A client that
  // closed its side cancels it, within some tens of milliseconds.
  asio::awaitable<void> run(Channel& channel, const BodyReader& body, asio::awaitable<void> work);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace cay::http
