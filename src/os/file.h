// Files and directories under a directory descriptor. Nothing here follows a symbolic link in the
// last component, and remove_tree follows none at all.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace cay::os {

// The whole file, at most `limit` bytes of it.
Result<std::string> read_file(int dir, const std::string& path, std::size_t limit = 256 * 1024);

// One write(2) into an existing file: cgroup and /proc control files.
Result<void> write_file(int dir, const std::string& path, std::string_view text);

// Replaces `name` atomically (temporary file, rename). Readers see the old or the new bytes.
Result<void> replace_file(int dir, const std::string& name, std::string_view bytes, mode_t mode);

// Makes the file `name` with `text` in it and returns it, open for writing. Fails if anything has
// that name already (EEXIST), and if not all of the text fits.
Result<UniqueFd> make_file(int dir, const std::string& name, std::string_view text, mode_t mode);

Result<UniqueFd> open_dir(int dir, const std::string& path);

// Opens directory `name`, making it if absent. Fails kPermissionDenied (reason unsafe_directory)
// when it is not a directory owned by uid:gid: whoever owns the parent may have put something else
// there. The mode is set to `mode`.
Result<UniqueFd> ensure_dir(int dir, const std::string& name, uid_t uid, gid_t gid, mode_t mode);

// Names in a directory but "." and "..", unsorted.
Result<std::vector<std::string>> list_dir(int dir);

// Removes a file or a whole tree. Idempotent: absent is success. Descends at most 4096 levels.
Result<void> remove_tree(int dir, const std::string& name);

}  // namespace cay::os
