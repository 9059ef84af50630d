// Keyring: the broker's keys. Data keys seal secrets, and a box key opens what clients closed.
//
// DATA/vault/keyring holds both, sealed by a master key. That key is a file (DATA/vault/key, made
// at the first start) or is derived from a passphrase (scrypt).
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/sealed_box.h"

namespace cay::vault {

// The sources of the master key.
struct Master {
  Wiped passphrase;  // empty: the file
  Wiped previous;    // the passphrase before; empty: none, or the file was
};

class Keyring {
 public:
  // Opens the keyring in `directory` (DATA/vault), or makes it if nothing was sealed there. The
  // previous passphrase may open it, and so may the file although a passphrase is given. In both
  // cases the given one seals it again, and the file is removed. Fails kPermissionDenied
  // (vault_locked) if no key opens it.
  static Result<Keyring> open(int directory, Master master);

  const std::string& public_key() const { return public_key_; }
  // `about` is what the secret is, and must be the same at opening.
  Result<std::string> seal(std::string_view about, std::string_view plain) const;
  Result<Wiped> unseal(std::string_view about, std::string_view sealed) const;
  Result<Wiped> open_box(std::string_view about, std::string_view box) const;

  // A data key, a box key and (of a file) a master key that are new; what the older data keys
  // sealed still opens.
  Result<void> begin_rotation();
  // The older data keys are forgotten.
  Result<void> end_rotation();
  std::size_t data_keys() const { return data_keys_.size(); }

 private:
  Keyring(int directory, Master master) : directory_(directory), master_(std::move(master)) {}
  Result<void> load(const std::string& file);
  Result<void> make();
  Result<void> keep(bool new_master);
  Result<std::string> sealed_by_file(std::string_view key) const;
  Result<std::string> sealed_by_passphrase() const;
  Wiped plain() const;
  bool take(std::string_view plain);

  int directory_;
  Master master_;
  Wiped key_;                                 // of the file
  std::map<std::uint64_t, Wiped> data_keys_;  // the last is the one that seals
  Wiped box_key_;
  std::string public_key_;
};

// Writes a file whole and durably, or not at all. Mode 0600.
Result<void> write_durably(int directory, const std::string& name, std::string_view bytes);

}  // namespace cay::vault
