// KeyRing: the API keys that are let in, and what for. Only hashes are held; a key is shown once,
// when it is made.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/link.h"
#include "model/principal.h"
#include "model/secret.h"

namespace cay::server {

using KeyHash = SecretHash;
inline KeyHash hash_key(std::string_view key) { return hash_secret(key); }

// A new key: "cay_" and 43 letters and digits, about 256 bits from the kernel.
std::string new_key();

struct KeyRecord {
  // The former secret of a rotated key. It opens until `until`.
  struct Older {
    KeyHash hash{};
    UnixMillis until = 0;
  };

  std::string name;    // 1-63 of [A-Za-z0-9._-]; shown as created_by and in the log
  std::string tenant;  // likewise
  KeyHash hash{};
  KeyScope scope = KeyScope::kCreate;
  std::optional<SandboxId> only{};      // of KeyScope::kUse, and of no other
  std::optional<UnixMillis> expires{};  // nothing: never
  std::optional<Older> older{};
  UnixMillis since = 0;  // links that were made before are of another key of this name, or of what
                         // it was before a rotation; 0: not known

  bool lives(UnixMillis now) const { return !expires || now < *expires; }
};

class KeyRing {
 public:
  explicit KeyRing(Clock& clock = system_clock()) : clock_(&clock) {}

  // kAlreadyExists (key_name_in_use), kInvalidArgument (bad_key_name, bad_key_scope).
  Result<void> add(KeyRecord record);
  // Compares with every key in constant time, so that the time of the answer shows nothing.
  // Fails: kUnauthenticated (expired_key, or unknown_key for a key that is not here).
  Result<Principal> find(std::string_view key) const { return find(hash_key(key)); }
  Result<Principal> find(const KeyHash& hash) const;
  // Whether the key of this hash is let in now.
  bool opens(const KeyHash& hash) const;
  // Returns whether the key that made the link could make it again. It must be let in with the same
  // scope as then, and must not be a later key of the same name.
  bool stands_for(const Link& link) const;
  const std::vector<KeyRecord>& records() const { return records_; }

 private:
  Clock* clock_;
  std::vector<KeyRecord> records_;
};

}  // namespace cay::server
