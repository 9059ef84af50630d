// Relay: one connection of a sandbox that was handed over: its requests go on, with what the rules
// add, to a server whose certificate was checked; the answers come back, unless a secret is in
// them. Both sides are hostile: the guest, and whoever answers.
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

// What all relays share.
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
  Millis most_still{600'000};  // a request or an answer of which nothing moves ends after that, and
                               // before twice of it
};

// What becomes of it, for `cay net`.
using Tell = std::function<void(const wire::BrokerWord& word)>;

// Until the connection is over. `guest` is reset on close until an end was proper. `cancel` cancels
// this very coroutine: a grant that does not allow any more what is under way cuts it, and tells so
// (rule_changed).
asio::awaitable<void> relay(RelayHouse& house, wire::BrokerHello hello, UniqueFd guest, Tell tell,
                            std::function<void()> cancel);

}  // namespace cay::vault
