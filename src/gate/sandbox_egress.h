// SandboxEgress: the way out of one sandbox. It accepts what comes to the sockets that the keeper
// lent.
#pragma once
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/scope.h"
#include "gate/connection_limiter.h"
#include "gate/dns_proxy.h"
#include "gate/egress_state.h"
#include "gate/proxied_connection.h"
#include "gate/upstream_proxy.h"

namespace cay::gate {

class SandboxEgress {
 public:
  // `sockets` and `policy` as in wire::Lent.
  SandboxEgress(GateContext& context, const std::string& sandbox_id, const std::string& policy,
                std::vector<UniqueFd> sockets);
  ~SandboxEgress();

  // Serves until it is cancelled. Open connections are then reset.
  asio::awaitable<void> run();

  // Reads again what the daemon wrote into DATA/rules. Resets the open connections that it does not
  // allow before it returns.
  void reload_policy();

  // Writes all decisions and questions so far. If the disk is full, they go with the next write.
  void write_decisions() {
    state_.journal.write();
    state_.questions.write();
  }

  // Resets the open connections that are past a fence which came later.
  void check_fences();

 private:
  asio::awaitable<void> accept_all(Descriptor& listener);
  // One connection: accept, inspect, decide, dial, relay.
  asio::awaitable<void> serve(UniqueFd fd, std::shared_ptr<const ConnectionLimiter::Place> place);
  asio::awaitable<ConnectionVerdict> inspect(Descriptor& client, Endpoint meant, bool is_fenced,
                                             const std::string& host, std::string& first);
  // Answers a plain request of HTTP that the policy refuses, with the reason.
  asio::awaitable<void> answer_refused(Descriptor& client, const ConnectionVerdict& verdict,
                                       std::string first);
  // Returns null, and has written a line, if there is no server, or if the policy changed
  // meanwhile.
  asio::awaitable<std::optional<UpstreamProxy::Opened>> dial(ConnectionVerdict& verdict,
                                                             Buffers buffers);
  asio::awaitable<void> relay(Descriptor client, UpstreamProxy::Opened server,
                              ConnectionVerdict verdict, std::string first, Buffers buffers);

  const std::string lent_;
  EgressState state_;
  std::vector<Descriptor> sockets_;
  ConnectionLimiter limiter_;
  Scope children_;
  DnsProxy dns_;
};

}  // namespace cay::gate
