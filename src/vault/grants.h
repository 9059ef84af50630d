// Grants records which sandbox may use which secrets, in memory and in DATA/vault, and holds the
// authority of each. Grants outlive the daemon's death and the broker's own.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "vault/authority.h"
#include "vault/grant_versions.h"
#include "vault/keyring.h"
#include "wire/vault.h"

namespace cay::vault {

struct Granted {
  wire::VaultGrant grant;
  std::unique_ptr<Authority> authority;  // null: TLS is not ended for it
  std::vector<std::string>
      unusable;  // names of rules whose secrets cannot be opened: what needs them is refused
};

class Grants {
 public:
  Grants(int directory, Keyring& keys) : directory_(directory), keys_(keys) {}

  // Reads the stored grants. A grant that cannot be opened is left out and logged. The gate then
  // refuses its sandbox's hosts until the daemon grants them again.
  void open();
  // Records the version of a request as soon as it arrives, before any work for it begins.
  void received(const wire::VaultTurn& turn) { versions_.received(turn); }
  // Replaces the grant of a sandbox and returns its authority's certificate. An authority that is
  // fresh stays. On failure the old grant stays. In this call and the next two, a request that a
  // newer one has overtaken changes nothing, and returns what counts now.
  Result<std::string> grant(wire::VaultGrant grant);
  // Ends the grants. A failure means that the file stayed: this broker has forgotten the grant all
  // the same, and the next broker would read it again.
  Result<void> revoke(const std::vector<std::string>& sandbox_ids,
                      const wire::VaultTurn& turn = {});
  // Removes every grant but these. A daemon calls this when it starts, and when the broker starts.
  // It also resets what another daemon withdrew.
  Result<void> keep_only(const std::vector<std::string>& sandbox_ids,
                         const wire::VaultTurn& turn = {});
  // Takes every version of a secret from every sandbox. A failure means that a file stayed, as with
  // revoke(). The rules that need the secret stay, and refuse (rules.h). A grant of a version
  // before `least` that is still on its way fails: kConflict (secret_withdrawn).
  Result<void> withdraw(const std::string& tenant, const std::string& name, std::uint64_t least);
  // All anew: the authorities' keys were sealed by an older data key.
  Result<void> reseal();

  // Returns the grant of a sandbox, or null. Requests that are under way keep the grant they have.
  std::shared_ptr<const Granted> of(const std::string& sandbox_id) const;
  std::vector<wire::BrokerRoutes> routes() const;
  // For a request. kPermissionDenied (secret_unusable): its row is torn, or of a key that is gone.
  Result<Wiped> unseal(const wire::VaultSecret& secret) const;
  std::function<void(const wire::BrokerRoutes&)> on_change;

 private:
  Result<std::shared_ptr<Granted>> load(const std::string& name) const;
  Result<void> keep(const wire::VaultGrant& grant) const;
  Result<void> forget(const std::string& sandbox_id) const;
  Result<void> revoke_one(const std::string& sandbox_id, const wire::VaultTurn& turn);
  int directory_;
  Keyring& keys_;
  std::map<std::string, std::shared_ptr<Granted>> all_;
  std::set<std::string> closed_;  // ids of those that are kept and could not be opened
  GrantVersions versions_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> least_;  // by tenant and name
  std::string last_daemon_;  // whose withdrawals these are
};

}  // namespace cay::vault
