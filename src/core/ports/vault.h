// The vault port: holds the key to secrets, and uses them for sandboxes. src/vault implements it by
// requests to the broker. No function returns a value.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "async/task.h"
#include "model/proxy.h"

namespace cay::core {

// The secrets and rules that one sandbox may use.
struct ProxyGrant {
  SandboxId sandbox;
  TenantId tenant;
  std::vector<std::pair<ProxyRule, StoredSecret>>
      rules;  // of a fence: a secret without a name; of one whose secret is gone: one that is not
              // sealed
};

struct Granted {
  std::string certificate;            // of the authority (PEM) that it is to trust; empty: of none
  std::vector<std::string> unusable;  // names of rules whose secrets the vault cannot open: they
                                      // are refused, the others count
};

// All fail with kUnavailable (vault_unavailable) while no broker answers.
class Vault {
 public:
  virtual ~Vault() = default;

  // Returns the key that values are closed for (model/sealed_box.h), about the secret's name.
  virtual Task<std::string> public_key() = 0;
  // The closed value as it is kept: for this secret, version and hosts alone. kInvalidArgument
  // (bad_envelope, invalid_secret).
  virtual Task<std::string> seal(SecretInfo about, std::string box) = 0;
  // From now on the sandbox may use these and no others. The last call counts among those under
  // way, with revoke and keep_only, too. Fails kConflict (secret_withdrawn) if a version of it was
  // withdrawn meanwhile.
  virtual Task<Granted> grant(ProxyGrant grant) = 0;
  virtual Task<void> revoke(SandboxId sandbox) = 0;
  // When it returns nobody uses the secret any more, in any version, and connections that use it
  // are cut. Versions from `least` on may be granted anew. Until then requests that need it are
  // refused. If it fails a sandbox may still have it.
  virtual Task<void> withdraw(TenantId tenant, std::string name, std::uint64_t least) = 0;
  // Only these sandboxes have rules: grants of every other one are removed. Before it
  // returns, also with an Error, the gate has these rules in its files (decision 0047).
  virtual Task<void> keep_only(std::vector<ProxyGrant> all) = 0;
  // Calls the function when a broker answers, and returns when that broker is gone. Another one may
  // have missed messages. Fails if none answers, or as the function does.
  virtual Task<void> attend(std::function<Task<void>()> tell) = 0;

  // A new key; then each secret by reseal() and into the store; then the old key is forgotten. One
  // that is broken off loses nothing, and is begun again.
  virtual Task<void> begin_rotation() = 0;
  virtual Task<std::string> reseal(StoredSecret secret) = 0;
  virtual Task<void> end_rotation() = 0;
};

}  // namespace cay::core
