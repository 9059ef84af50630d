// SentSecrets: the values that went to a server, which may say them in a later answer, whatever became of the secret since: one that is changed
// or removed counts for whoever is asked by it no more, and is still valid there until it is revoked.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
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
inline constexpr std::size_t kMostSentOfHost = 32;   // the latest, beside those of who asks
inline constexpr UnixMillis kSentKept = 30LL * 24 * 3'600'000;

// In memory and, sealed, in DATA/vault.
class SentSecrets {
 public:
  SentSecrets(int directory, Keyring& keys, SharedWatches& watches, Clock& clock = system_clock())
      : directory_(directory), keys_(keys), watches_(watches), clock_(clock) {}

  // Reads what is kept. What cannot be opened goes, and is told in the log; so does what is too old.
  void open();
  // Before it is sent, and of what is sent alone. Where that cannot be written it is known until the broker's end, and the log tells so.
  void note(const wire::VaultSecret& secret);
  // One that looks for the values that hosts like this one were sent for a tenant. `own`: how many secrets who asks may send there, which are looked for
  // whether they are among these or not, and take no other's place.
  ReflectionWatch watch_of(const std::string& tenant, const std::string& host, std::size_t own);
  // All anew, as an older data key is to be forgotten. What cannot be opened goes.
  Result<void> reseal();

 private:
  struct Known {
    wire::VaultSent sent;
    std::vector<ProxyHost> hosts;
    UnixMillis written = 0;  // its time in the file; in `sent` it is exact

    bool is_for(const std::string& host) const;
  };
  struct Made {
    ReflectionWatch watch{};
    bool is_crowded = false;  // there are more than it looks for
    bool is_current = true;   // else it is kept for its needles, of which the next has most
    bool is_of_latest = true;  // else it is made anew soon: where there are so many, each use may bring another in
    UnixMillis at = 0, oldest = 0;  // made, and sent of those that it looks for
    std::uint64_t used = 0;
  };
  using Name = std::pair<std::string, std::string>;  // tenant, name: what is removed and set again begins at the first version again
  using Values = std::vector<Known>;

  Result<Wiped> value_of(const wire::VaultSecret& secret) const;
  Known* find(const wire::VaultSecret& secret);
  bool keep(Known& known) const;
  void remove(const Known& known) const;
  void join_same();
  void forget_old();
  void outdate(const Known& known, bool is_new);

  int directory_;
  Keyring& keys_;
  SharedWatches& watches_;
  Clock& clock_;
  std::map<Name, Values> all_;
  std::map<std::tuple<std::string, std::string, std::size_t>, Made> made_;  // by tenant, host, and how many
  std::uint64_t asked_ = 0;
  UnixMillis looked_at_ = 0;  // for what is too old
};

}  // namespace cay::vault
