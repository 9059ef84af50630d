// Inspectors: read a connection's first bytes and decide about it by what they show.
#pragma once
#include <cstddef>
#include <string>

#include "async/task.h"
#include "gate/egress_state.h"
#include "gate/first_bytes.h"
#include "gate/refusal_response.h"
#include "gate/sockets.h"

namespace cay::gate {

inline constexpr std::uint16_t kHttpPort = 80;
inline constexpr std::uint16_t kTlsPort = 443;

// Reads until the form of the response is known. `first` has been read already.
Task<ResponseForm> read_response_form(Descriptor& client, std::string first);

// Decides whether a connection belongs to the broker, before the policy is applied.
class BrokerInspector {
 public:
  enum class Owner : std::uint8_t {
    kPolicy,  // the policy decides
    kBroker,
    kNobody,  // it may be for a fenced host, and does not show a name
  };

  // `state` outlives it.
  explicit BrokerInspector(EgressState& state) : state_(state) {}

  // Reads the first bytes only if the connection may be for a proxy rule's host. That is so at port
  // 443, at a fence's port, and where the address belongs to such a host. A server that speaks
  // first waits nowhere else. `host` becomes the shown name, and stays empty at the broker's own
  // address.
  asio::awaitable<Owner> owner_of(Descriptor& client, Endpoint meant, std::string& first,
                                  std::string& host);

 private:
  EgressState& state_;
};

// Applies the policy to a connection, and reads its first bytes where the policy requires a name.
class PolicyInspector {
 public:
  explicit PolicyInspector(EgressState& state) : state_(state) {}

  asio::awaitable<ConnectionVerdict> decide(Descriptor& client, Endpoint meant, std::string& first);

  // Reads until the first bytes name a host as `proof`, which the verdict then has. If they do not,
  // it refuses and returns false.
  asio::awaitable<bool> read_shown_host(Descriptor& client, ConnectionVerdict& out, Proof proof,
                                        std::string& first);

 private:
  // Sets the reason if the address may not be dialled.
  void check_address(ConnectionVerdict& out) const;
  // Sets the host, the rule and the reason of a verdict that no shown name has changed.
  void settle(ConnectionVerdict& out, const policy::Verdict& verdict, Endpoint meant) const;
  // Decides by the facts, and where the policy has `ask`, by somebody's answer about `host`. The
  // connection is held until then. Returns whether it is allowed, or not to be judged yet: kShow.
  asio::awaitable<policy::Verdict> judge(Descriptor& client, ConnectionVerdict& out,
                                         std::string host);
  // Sets the grant of somebody's answer. Returns false, with the reason, if there is none. The
  // policy may have changed meanwhile: then there is no grant either, and it returns true.
  asio::awaitable<bool> ask(Descriptor& client, ConnectionVerdict& out, const std::string& host);
  // Sets the address that is dialled, one of the verdict's host, unless it is one already.
  asio::awaitable<void> find_address(ConnectionVerdict& out);
  asio::awaitable<void> decide_by_shown_host(Descriptor& client, ConnectionVerdict& out,
                                             Proof proof, std::string& first);

  EgressState& state_;
};

}  // namespace cay::gate
