// ConnectionPool: the connections of a listener. It chooses the one that gives way when the pool is
// full or a caller has more than its share.
#pragma once
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>

#include "http/connection_shares.h"
#include "http/live_exchange.h"

namespace cay::http {

// The pool's record of one connection. It lives where the connection is served, and is in the pool
// from enter() to leave().
struct ClientConnection {
  Transport* transport =
      nullptr;           // where it is now: it moves into a channel. Null: not yet, or already gone
  bool refused = false;  // the pool was full of callers: it gets an answer and no place
  std::optional<Caller> caller;         // the last one that was let in on it
  std::weak_ptr<LiveExchange> at_work;  // its request; none: it waits for the next

  // The pool's own.
  enum class In {
    kStrangers,
    kKnown,
    kNone
  } list = In::kNone;                            // strangers: nobody was let in on it so far
  std::list<ClientConnection*>::iterator place;  // in that list
};

class ConnectionPool {
 public:
  // `end_at_work` ends a request whose connection gives way, with words for its client.
  ConnectionPool(std::size_t most, ShareLimits shares,
                 std::function<void(std::shared_ptr<LiveExchange>)> end_at_work)
      : most_(most), shares_(shares), end_at_work_(std::move(end_at_work)) {}

  // In a full pool the oldest stranger gives way: whoever holds no key must not keep out those who
  // do.
  void enter(ClientConnection& client);
  void leave(ClientConnection& client);
  // `caller` was let in on it; another's connection may give way for that. kExhausted
  // (too_many_connections): it has its share.
  Result<void> let_in(ClientConnection& client, Caller caller);

  std::size_t size() const { return size_; }

 private:
  void give_way(ClientConnection& client);
  void take_from(const Share& share, const ClientConnection& newcomer);
  void out_of_its_list(ClientConnection& client);

  const std::size_t most_;
  ConnectionShares shares_;
  const std::function<void(std::shared_ptr<LiveExchange>)> end_at_work_;
  std::size_t size_ = 0;
  std::list<ClientConnection*> strangers_, known_;  // the oldest first
};

}  // namespace cay::http
