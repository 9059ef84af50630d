// relay: serves one connection of a sandbox that the gate handed over.
//
// The relay accepts the guest's TLS (guest_connection.h) and inspects each request
// (request_inspector.h). It dials the rule's server (server_connection.h) and relays the response
// unless it holds a secret (response_scanner.h). Guest and server are both hostile.
#pragma once
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <string>

#include "async/task.h"
#include "base/clock.h"
#include "base/unique_fd.h"
#include "gate/reachable.h"
#include "gate/resolver.h"
#include "gate/socket_memory.h"
#include "gate/upstream_proxy.h"
#include "http/tls.h"
#include "vault/grants.h"
#include "vault/open_relays.h"
#include "vault/secret_matcher.h"
#include "wire/vault.h"

namespace cay::vault {

// The state that all relays share.
struct RelayHouse {
  asio::any_io_executor loop;
  Keyring& keys;
  Grants& grants;
  gate::Reachable& reachable;
  gate::Resolver& resolver;
  const gate::UpstreamProxy& proxy;
  http::Tls& tls;
  OpenRelays& open;
  EncodingCache& encodings;
  const gate::SocketMemory& memory;
  // A request or a response of which nothing moves ends after this time, and before twice of it.
  Millis most_still{600'000};
};

// Receives what becomes of a connection, for `cay net`.
using Tell = std::function<void(const wire::BrokerWord& word)>;

// Returns when the connection is over. `guest` is reset on close until an end was proper.
// `cancel` cancels this very coroutine: a new grant that does not allow the request under way cuts
// the connection (rule_changed).
asio::awaitable<void> relay(RelayHouse& house, wire::BrokerHello hello, UniqueFd guest, Tell tell,
                            std::function<void()> cancel);

}  // namespace cay::vault
