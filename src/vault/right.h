// Right: what a connection of a sandbox is open by, so that it can be asked again when the sandbox's rules or their secrets are others. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "vault/rules.h"

namespace cay::vault {

class Right {
 public:
  // As BrokerHello: the name that the connection is for; empty: way base_url.
  Right(std::string host, std::uint16_t port) : host_(std::move(host)), port_(port) {}

  // A request is under way, which goes out as `by`; and is over.
  void begin(Asked asked, const Rewritten& by);
  void end();

  // Whether all stays as it is by `now` (null: no grant): the connection is still the broker's, and the request under way would go out exactly as it
  // did, with the same secret. So what replaces its rule by one that says the same of it changes nothing, and neither does a secret that is only sealed anew.
  bool stands(const wire::VaultGrant* now, const Unseal& unseal) const;

 private:
  const std::string host_;
  const std::uint16_t port_;
  std::optional<Asked> asked_;  // as the guest sent it: no secret of ours is in it
  std::string digest_;          // of what went out
};

}  // namespace cay::vault
