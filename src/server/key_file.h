// The keys' files: DATA/keys, a line for each key that `cay key` made, and DATA/api-key, the
// operator's own key.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "server/key_ring.h"

namespace cay::server {

// Reads a file of keys. A line is "NAME TENANT [scope=use,sandbox=ID,expires=SECONDS,
// older=HASH:SECONDS] SHA256-HEX". The settings in brackets are absent if all are usual (create, no
// end). "#" begins a comment. A build from before scopes takes the third word for the hash and
// refuses the file. So it cannot let a small key do everything.
//
// The comment "#since NAME MILLISECONDS" states when a key was made or made anew. Older builds skip
// it. Other comments are lost when the file is written again. A missing file has no keys. Fails:
// kInvalidArgument (bad_key_file).
Result<KeyRing> load_keys(const std::string& path, Clock& clock = system_clock());
// All of them, in place of what is there: whole or not at all, mode 0600, on the disk when it
// returns. The owner stays (for root writes into what is the daemon's); of a new file it is the
// directory's. No keys: no file.
Result<void> save_keys(const std::string& path, const std::vector<KeyRecord>& records);

// The name, size and times of a file, which show whether it was changed. Zeros: there is none.
struct FileState {
  std::uint64_t inode = 0, size = 0;
  std::int64_t changed_ns = 0;
  bool operator==(const FileState&) const = default;
};
FileState state_of(const std::string& path);

// The key in the file at `path` (made with a new one, mode 0600, if there is none).
Result<std::string> ensure_key_file(const std::string& path);
// Replaces the key file by a new key, whole or not at all. The key is on the disk when this
// returns, and the owner of the file stays. Fails: kNotFound (no_such_key) if there is no file.
Result<std::string> replace_key_file(const std::string& path);

}  // namespace cay::server
