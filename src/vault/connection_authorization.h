// ConnectionAuthorization: decides whether an open connection may stay when a grant changes.
//
// It remembers what the connection is for and a digest of the request under way. It does no I/O.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "vault/rules.h"

namespace cay::vault {

class ConnectionAuthorization {
 public:
  // `host` and `port` are BrokerHello's. An empty host is way base_url.
  ConnectionAuthorization(std::string host, std::uint16_t port)
      : host_(std::move(host)), port_(port) {}

  // Records that a request begins: `request` as the guest sent it, `by` as the server receives it.
  void begin(ClientRequest asked, const Rewritten& by);
  // The request is over.
  void end();

  // Returns whether the connection may stay under the grant `now`; null means that there is none.
  //
  // The rules must still cover the connection. A request under way must come out exactly as it was
  // sent, with the same secret. So neither another name of a rule nor another seal changes
  // anything.
  bool is_valid(const wire::VaultGrant* now, const Unseal& unseal) const;

 private:
  const std::string host_;
  const std::uint16_t port_;
  std::optional<ClientRequest> asked_;  // as the guest sent it: it contains no secret
  std::string digest_;                  // of the request that was sent
};

}  // namespace cay::vault
