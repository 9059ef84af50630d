// ClientPool: connects to one server, and keeps connections that are not in use.
#pragma once
#include <chrono>
#include <deque>
#include <memory>
#include <string>

#include "http/client.h"
#include "http/stream.h"
#include "http/url.h"

namespace cay::http {

class ClientPool : public std::enable_shared_from_this<ClientPool> {
 public:
  struct Lease {
    std::shared_ptr<Stream> stream;
    bool reused = false;
  };
  enum class Prefer { kReuse, kFresh };

  ClientPool(asio::any_io_executor executor, Url url, Millis connect_timeout, Millis idle_timeout, std::size_t max_idle);

  Task<Lease> take(Prefer prefer);
  void give_back(std::shared_ptr<Stream> stream);
  void close_idle() { idle_.clear(); }
  const Url& url() const { return url_; }
  asio::any_io_executor executor() const { return executor_; }
  std::string name() const;  // for messages

 private:
  struct Idle {
    std::shared_ptr<Stream> stream;
    std::chrono::steady_clock::time_point since;
  };
  Task<std::shared_ptr<Stream>> connect();
  Task<std::shared_ptr<Stream>> connect_unix();
  Task<std::shared_ptr<Stream>> connect_tcp();
  Task<std::shared_ptr<Stream>> connect_to(asio::generic::stream_protocol::endpoint endpoint);

  asio::any_io_executor executor_;
  Url url_;
  Millis connect_timeout_;
  Millis idle_timeout_;
  std::size_t max_idle_;
  std::deque<Idle> idle_;
};

}  // namespace cay::http
