// The keys' files: DATA/keys, a line for each key that `cay key` made, and DATA/api-key, the
// operator's own key.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "server/key_ring.h"

namespace cay::server {

// "name tenant [scope=use,sandbox=ID,expires=SECONDS,older=HASH:SECONDS] sha256-hex", '#' comments;
// what is usual (create, for ever) is not written. A build from before scopes takes the third word
// for the hash and refuses the file: it cannot let a small key do everything. "#since NAME
// MILLISECONDS" tells when a key was made, or made anew: a comment, so that they overlook it. Other
// comments are read over, and gone when the file is written again. Missing: no keys.
// kInvalidArgument (bad_key_file).
Result<KeyRing> load_keys(const std::string& path, Clock& clock = system_clock());
// All of them, in place of what is there: whole or not at all, mode 0600, on the disk when it
// returns. The owner stays (for root writes into what is the daemon's); of a new file it is the
// directory's. No keys: no file.
Result<void> save_keys(const std::string& path, const std::vector<KeyRecord>& records);

// Tells whether a file was changed: by name, size and times. Zeros: there is none.
struct FileState {
  std::uint64_t inode = 0, size = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const FileState&) const = default;
};
FileState state_of(const std::string& path);

// The key in the file at `path` (made with a new one, mode 0600, if there is none).
Result<std::string> ensure_key_file(const std::string& path);
// A new one in place of what is there, whole or not at all, on the disk when it returns; the owner
// stays. kNotFound (no_such_key): none is there.
Result<std::string> replace_key_file(const std::string& path);

}  // namespace cay::server
