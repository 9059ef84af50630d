// SentSecrets: the values that went to a server, which may say them in a later answer, whatever became of the secret since: one that is changed
// or removed counts for whoever is asked by it no more, and is still valid there until it is revoked.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/proxy.h"
#include "vault/keyring.h"
#include "vault/reflection.h"
#include "wire/vault.h"

namespace cay::vault {

inline constexpr std::size_t kMostSentValues = 4;    // of one secret, the latest
inline constexpr std::size_t kMostSentOfHost = 32;   // the latest
inline constexpr UnixMillis kSentKept = 30LL * 24 * 3'600'000;

// In memory and, sealed, in DATA/vault.
class SentSecrets {
 public:
  SentSecrets(int directory, Keyring& keys, SharedWatches& watches, Clock& clock = system_clock())
      : directory_(directory), keys_(keys), watches_(watches), clock_(clock) {}

  // Reads what is kept. What cannot be opened goes, and is told in the log; so does what is too old.
  void open();
  // Before it is sent. Where that cannot be written it is known until the broker's end, and the log tells so.
  void note(const wire::VaultSecret& secret);
  // One that looks for the values that hosts like this one were sent for a tenant.
  ReflectionWatch watch_of(const std::string& tenant, const std::string& host);
  // All anew, as an older data key is to be forgotten. What cannot be opened goes.
  Result<void> reseal();

 private:
  struct Known {
    wire::VaultSent sent;
    std::vector<ProxyHost> hosts;
  };
  using Name = std::pair<std::string, std::string>;  // tenant, name: what is removed and set again begins at the first version again
  using Values = std::vector<Known>;

  Result<Wiped> value_of(const wire::VaultSecret& secret) const;
  Known* find(const wire::VaultSecret& secret);
  void keep(const Known& known) const;
  void remove(const Known& known) const;
  void forget_old();

  int directory_;
  Keyring& keys_;
  SharedWatches& watches_;
  Clock& clock_;
  std::map<Name, Values> all_;
  std::map<std::pair<std::string, std::string>, ReflectionWatch> made_;  // by tenant and host, until something changes
  UnixMillis looked_at_ = 0;                                            // for what is too old
};

}  // namespace cay::vault
