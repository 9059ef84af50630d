// Grants: which sandbox may use which secrets, in memory and in DATA/vault, and the authority of each. They outlive the daemon's
// death and the broker's own.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "vault/authority.h"
#include "vault/keyring.h"
#include "wire/vault.h"

namespace cay::vault {

struct Granted {
  wire::VaultGrant grant;
  std::unique_ptr<Authority> authority;  // null: TLS is not ended for it
};

class Grants {
 public:
  Grants(int directory, Keyring& keys) : directory_(directory), keys_(keys) {}

  // Reads what is kept. What cannot be read is left out: the daemon grants it anew.
  void open();
  // Replaces the sandbox's. An authority that it has, and that is fresh, stays.
  Result<std::string> grant(wire::VaultGrant grant);
  void revoke(const std::string& sandbox_id);
  void keep_only(const std::vector<std::string>& sandbox_ids);
  // All anew: the authorities' keys were sealed by an older data key.
  Result<void> reseal();

  // Null: it may use none. What is under way keeps what it has.
  std::shared_ptr<const Granted> of(const std::string& sandbox_id) const;
  std::vector<wire::BrokerRoutes> routes() const;
  std::function<void(const wire::BrokerRoutes&)> on_change;

 private:
  Result<void> keep(const wire::VaultGrant& grant) const;
  int directory_;
  Keyring& keys_;
  std::map<std::string, std::shared_ptr<Granted>> all_;
};

}  // namespace cay::vault
