// SentSecrets: the values that went to a server, which may say them in a later answer, whatever became of the secret since: one that is changed
// or removed counts for whoever is asked by it no more, and is still valid there until it is revoked.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "vault/keyring.h"
#include "wire/vault.h"

namespace cay::vault {

inline constexpr std::size_t kMostSentVersions = 4;  // of one secret
inline constexpr std::size_t kMostSentOfHost = 64;   // the latest
inline constexpr UnixMillis kSentKept = 30LL * 24 * 3'600'000;

// In memory and, sealed, in DATA/vault.
class SentSecrets {
 public:
  SentSecrets(int directory, Keyring& keys, Clock& clock = system_clock()) : directory_(directory), keys_(keys), clock_(clock) {}

  // Reads what is kept; what cannot be opened is left out, and told in the log.
  void open();
  // Before it is sent. Where that cannot be written it is known until the broker's end, and the log tells so.
  void note(const wire::VaultSecret& secret);
  // The values that hosts like this one were sent for a tenant.
  std::vector<Wiped> of_host(const std::string& tenant, std::string_view host) const;
  // All anew, as an older data key is to be forgotten. What cannot be opened goes.
  Result<void> reseal();

 private:
  using Key = std::tuple<std::string, std::string, std::uint64_t>;  // tenant, name, version
  Result<void> keep(const wire::VaultSent& sent) const;
  std::map<Key, wire::VaultSent>::iterator forget(std::map<Key, wire::VaultSent>::iterator one);
  void forget_older(const wire::VaultSecret& than);

  int directory_;
  Keyring& keys_;
  Clock& clock_;
  std::map<Key, wire::VaultSent> all_;
};

}  // namespace cay::vault
