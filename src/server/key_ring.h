// KeyRing: the API keys that are let in. Only hashes are held; a key is shown once, when it is made.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/principal.h"
#include "model/secret.h"

namespace cay::server {

using KeyHash = SecretHash;
inline KeyHash hash_key(std::string_view key) { return hash_secret(key); }

// A new key: "cay_" and 43 letters and digits, about 256 bits from the kernel.
std::string new_key();

struct KeyRecord {
  std::string name;    // 1-63 of [A-Za-z0-9._-]; shown as created_by and in the log
  std::string tenant;  // likewise
  KeyHash hash{};
};

class KeyRing {
 public:
  // kAlreadyExists (key_name_in_use), kInvalidArgument (bad_key_name).
  Result<void> add(KeyRecord record);
  // Compares with every key in constant time, so the answer's time tells nothing.
  std::optional<Principal> find(std::string_view key) const;
  bool has(const KeyHash& hash) const;
  bool has(const std::string& name, const std::string& tenant) const;
  const std::vector<KeyRecord>& records() const { return records_; }

 private:
  std::vector<KeyRecord> records_;
};

// The file DATA/keys: a line "name tenant sha256-hex" for each key, '#' comments. Missing: no keys.
Result<KeyRing> load_keys(const std::string& path);
// Tells whether a file was changed: by name, size and times. Zeros: there is none.
struct FileState {
  std::uint64_t inode = 0, size = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const FileState&) const = default;
};
FileState state_of(const std::string& path);
// Appends and syncs; makes the file with mode 0600.
Result<void> append_key(const std::string& path, const KeyRecord& record);

// The key in the file at `path` (made with a new one, mode 0600, if there is none).
Result<std::string> ensure_key_file(const std::string& path);

}  // namespace cay::server
