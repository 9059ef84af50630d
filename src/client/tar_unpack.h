// Unpacks a tar that a sandbox made, so it is hostile: nothing is written outside the target, no
// link of the archive or of the target is followed, no device, FIFO or hard link is made, no
// setuid, setgid or sticky bit is set, owners are ours. A file has its name when it is whole; zeros
// take no disk.
#pragma once
#include <functional>
#include <string>

#include "archive/tar_reader.h"
#include "base/result.h"
#include "cay/client.h"
#include "cay/types.h"

namespace cay::client {

enum class Links { kInsideOnly, kAll };

struct UnpackOptions {
  // kInsideOnly: a symbolic link whose target is absolute or leads out of the tree is skipped and
  // reported. kAll: it is made as it is (and still not followed here).
  Links links = Links::kInsideOnly;
  std::function<void(const sdk::Progress&)> progress;  // after each piece
  std::uint64_t max_entries = 10'000'000;
  std::uint64_t max_bytes = sdk::kMostCopied;  // that the files say they have, holes too
};

using archive::TarPull;

// `target` is made if it is missing (its parent must be there). Errors: kInvalidArgument
// "bad_archive" (not a tar, or cut short); kExhausted "too_many_entries", "copy_too_large"; those
// of the file system. What was refused by the rules above is in the report, and unpacking goes on.
Result<sdk::CopyReport> unpack_tar(const std::string& target, const TarPull& pull,
                                   const UnpackOptions& options);

// Reads an archive to its end and reports what it names as left out (codec/left_out.h).
Result<sdk::CopyReport> look_through_tar(const TarPull& pull);

// Whether a link at `name` (relative to the tree's root) to `to` surely stays inside the tree,
// whatever other links are in it: relative, and ".." only at its beginning, no more often than it
// is deep.
bool link_stays_inside(const std::string& name, const std::string& to);

}  // namespace cay::client
