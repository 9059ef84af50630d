// The vault port: who keeps the key to secrets, and uses them for sandboxes. Implemented by src/vault, by asking the broker. Nothing
// here gives a value back.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "async/task.h"
#include "model/proxy.h"

namespace cay::core {

// What one sandbox may use.
struct ProxyGrant {
  SandboxId sandbox;
  TenantId tenant;
  std::vector<std::pair<ProxyRule, StoredSecret>> rules;  // of a fence: a secret without a name; of one whose secret is gone: one that is not sealed
};

struct Granted {
  std::string certificate;            // of the authority (PEM) that it is to trust; empty: of none
  std::vector<std::string> unusable;  // names of rules whose secrets the vault cannot open: they are refused, the others count
};

// All fail with kUnavailable (vault_unavailable) while no broker answers.
class Vault {
 public:
  virtual ~Vault() = default;

  // What a value is to be closed for (model/sealed_box.h), about the secret's name.
  virtual Task<std::string> public_key() = 0;
  // The closed value as it is kept: for this secret, version and hosts alone. kInvalidArgument (bad_envelope, invalid_secret).
  virtual Task<std::string> seal(SecretInfo about, std::string box) = 0;
  // From now on the sandbox may use these and no others; of two at once that are under way, the one that was called last counts, and so with revoke and keep_only.
  // kConflict (secret_withdrawn): it has a version that was withdrawn meanwhile.
  virtual Task<Granted> grant(ProxyGrant grant) = 0;
  virtual Task<void> revoke(SandboxId sandbox) = 0;
  // When it returns nobody uses the secret any more, whoever was granted which version of it, and what went by it is cut; versions from `least` on may be granted
  // anew. Until then requests that want it are refused. Where it fails a sandbox may have it still.
  virtual Task<void> withdraw(TenantId tenant, std::string name, std::uint64_t least) = 0;
  // Only these sandboxes have rules: grants of every other one are removed. The gate knows of these rules also where it fails.
  virtual Task<void> keep_only(std::vector<ProxyGrant> all) = 0;
  // Runs `tell` when a broker answers, and returns when that broker is gone: another one may have been left out of what was said meanwhile. Fails where none
  // answers, or as `tell` does.
  virtual Task<void> attend(std::function<Task<void>()> tell) = 0;

  // A new key; then each secret by reseal() and into the store; then the old key is forgotten. One that is broken off loses
  // nothing, and is begun again.
  virtual Task<void> begin_rotation() = 0;
  virtual Task<std::string> reseal(StoredSecret secret) = 0;
  virtual Task<void> end_rotation() = 0;
};

}  // namespace cay::core
