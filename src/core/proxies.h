// Proxies: the rules by which sandboxes use secrets. The rules are checked against the existing
// secrets, granted at the vault, and made ready inside. A sandbox trusts only the authority that
// ends TLS for its own rules.
#pragma once
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/event.h"
#include "core/jobs.h"
#include "core/ports/runtime.h"
#include "core/ports/store.h"
#include "core/ports/vault.h"
#include "core/proxied_hosts.h"
#include "core/sandbox_trust.h"

namespace cay::core {

class Registry;
struct Entry;

class Proxies {
 public:
  // `vault` may be null: then there are no secrets (kUnsupported, vault_unsupported).
  Proxies(std::shared_ptr<Registry> registry, Vault* vault, Jobs& jobs)
      : registry_(std::move(registry)),
        vault_(vault),
        jobs_(jobs),
        trust_(jobs),
        stopped_(jobs.loop()) {}

  // Reads the store.
  Result<void> open();
  // Called once the registry has its rows: grants every sandbox's rules and revokes those of
  // sandboxes that are gone.
  Task<void> tell_all();
  // Runs until stop(): every new broker gets all grants, repeated until it has them. Earlier grants
  // count meanwhile.
  Task<void> keep_told();
  void stop() { stopped_.set(); }

  // Rules as they are to be kept: checked, and with a token each; `before` are the sandbox's so
  // far, whose tokens stay.
  Result<std::vector<ProxyRule>> checked(const TenantId& tenant, std::vector<ProxyRule> rules,
                                         const std::vector<ProxyRule>& before);

  // From now on the sandbox may use `rules`. Rules that the vault cannot use are logged.
  Task<Granted> grant(SandboxId sandbox, TenantId tenant, std::vector<ProxyRule> rules);
  // Revokes the grant of a sandbox that is gone, in the background.
  void revoke(const SandboxId& sandbox);
  // Grants, and makes trusted. kPermissionDenied (secret_unusable): rules that are named cannot be
  // used; all others count.
  Task<void> equip(std::shared_ptr<Entry> entry);

  // Returns the hosts of the sandbox's rules, as a dry run of a policy needs them.
  std::vector<ProxiedHost> hosts_of(const Sandbox& row) const;

  Result<Vault*> vault();
  std::map<std::pair<TenantId, std::string>, StoredSecret>& secrets() { return secrets_; }
  // Keeps with the rules for this secret whether it is gone, and where it could be sent.
  enum class Gone { kNo, kYes };
  Result<void> mark(const TenantId& tenant, const std::string& secret, Gone gone,
                    const std::vector<std::string>& hosts);
  // Sandboxes of the tenant that have a rule for this secret.
  std::vector<std::shared_ptr<Entry>> users_of(const TenantId& tenant,
                                               const std::string& secret) const;

 private:
  Task<void> revoke_job(SandboxId sandbox);
  asio::awaitable<void> tell_every_broker();
  ProxyGrant with_secrets(const SandboxId& sandbox, const TenantId& tenant,
                          std::vector<ProxyRule> rules) const;
  void mark_all();
  std::shared_ptr<Registry> registry_;
  Vault* vault_;
  Jobs& jobs_;
  std::map<std::pair<TenantId, std::string>, StoredSecret> secrets_;
  std::set<SandboxId> granted_;
  SandboxTrust trust_;
  Event stopped_;
};

}  // namespace cay::core
