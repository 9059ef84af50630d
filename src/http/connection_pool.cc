#include "http/connection_pool.h"

#include <utility>

namespace cay::http {

void ConnectionPool::enter(ClientConnection& client) {
  if (++size_ > most_) {
    while (!strangers_.empty() && strangers_.front()->refused)
      give_way(*strangers_.front());  // it has no place to give
    if (strangers_.empty()) {
      client.refused = true;
    } else {
      give_way(*strangers_.front());
    }
  }
  client.place = strangers_.insert(strangers_.end(), &client);
  client.list = ClientConnection::In::kStrangers;
}

void ConnectionPool::leave(ClientConnection& client) {
  out_of_its_list(client);
  shares_.give_back(client.caller);
  --size_;
}

void ConnectionPool::out_of_its_list(ClientConnection& client) {
  const auto list = std::exchange(client.list, ClientConnection::In::kNone);
  if (list == ClientConnection::In::kStrangers) strangers_.erase(client.place);
  if (list == ClientConnection::In::kKnown) known_.erase(client.place);
}

void ConnectionPool::give_way(ClientConnection& client) {
  out_of_its_list(client);
  ErrorCode ignored;  // its coroutine sees the end, and closes it
  if (client.transport != nullptr)
    client.transport->socket().shutdown(asio::socket_base::shutdown_both, ignored);
}

Result<void> ConnectionPool::let_in(ClientConnection& client, Caller caller) {
  CAY_TRY(const auto gives_up, shares_.take(client.caller, std::move(caller)));
  if (client.list == ClientConnection::In::kStrangers) {
    known_.splice(known_.end(), strangers_, client.place);
    client.list = ClientConnection::In::kKnown;
  }
  if (gives_up) take_from(*gives_up, client);
  return {};
}

// One of `share`'s connections ends: the oldest that waits for a request, or else the newest. It
// counts no more from now on.
void ConnectionPool::take_from(const Share& share, const ClientConnection& newcomer) {
  ClientConnection* chosen = nullptr;
  for (ClientConnection* one : known_) {
    if (one == &newcomer || !one->caller || share_of(*one->caller) != share) continue;
    chosen = one;
    if (one->at_work.expired()) break;
  }
  if (chosen == nullptr) return;
  shares_.give_back(chosen->caller);
  if (auto exchange = chosen->at_work.lock()) {
    out_of_its_list(*chosen);
    end_at_work_(std::move(exchange));
  } else {
    give_way(*chosen);
  }
}

}  // namespace cay::http
