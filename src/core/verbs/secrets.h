// Secrets that users keep with Cay and nobody can read again (docs/decisions/0023-the-vault.md).
// Values come closed (model/sealed_box.h) for public_key(), about the secret's name.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "model/principal.h"
#include "model/proxy.h"

namespace cay::core {

class Secrets {
 public:
  virtual ~Secrets() = default;
  // kUnsupported (vault_unsupported), kUnavailable (vault_unavailable): as all of these.
  virtual Task<std::string> public_key(Principal who) = 0;
  // A new one, or another value of one that is there; without `hosts` it keeps those it has.
  // Sandboxes with rules for it use it from then on. kInvalidArgument (invalid_secret,
  // bad_envelope), kExhausted (too_many_secrets).
  virtual Task<SecretInfo> set(Principal who, std::string name,
                               std::optional<std::vector<std::string>> hosts, std::string box) = 0;
  virtual Task<std::vector<SecretInfo>> list(Principal who) = 0;
  // Removes a secret, which refuses its users from then on. Returns those of the tenant. Fails
  // kNotFound (secret_not_found).
  virtual Task<std::vector<SecretUser>> remove(Principal who, std::string name) = 0;
  // Seals all tenants' by new keys, and forgets the old ones. How many there were.
  virtual Task<std::uint32_t> rotate_key(Principal who) = 0;
};

}  // namespace cay::core
