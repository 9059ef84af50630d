// Unpacks a tar that a sandbox made, which is therefore hostile. Nothing is written outside the
// target. No link of the archive or of the target is followed. No device, FIFO or hard link is
// made, and no setuid, setgid or sticky bit is set. The caller owns all files. A file gets its name
// when it is whole, and zeros take no disk.
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
  // kInsideOnly: skips and reports a symbolic link whose target is absolute or leads out of the
  // tree. kAll: makes it as it is. Neither follows it.
  Links links = Links::kInsideOnly;
  std::function<void(const sdk::Progress&)> progress;  // after each piece
  std::uint64_t max_entries = 10'000'000;
  std::uint64_t max_bytes = sdk::kMostCopied;  // the sum of the declared sizes, holes included
};

using archive::TarPull;

// Makes `target` if it is missing. Its parent must exist. Fails kInvalidArgument (bad_archive) for
// bytes that are no tar, or are cut short. Fails kExhausted (too_many_entries, copy_too_large), and
// as the file system does. The report lists what these rules refused, and unpacking goes on.
Result<sdk::CopyReport> unpack_tar(const std::string& target, const TarPull& pull,
                                   const UnpackOptions& options);

// Reads an archive to its end and reports what it names as left out (codec/left_out.h).
Result<sdk::CopyReport> look_through_tar(const TarPull& pull);

// Returns true if a link at `name` (relative to the tree's root) to `to` stays inside the tree,
// whatever other links are in it. Such a target is relative, and has ".." only at its beginning and
// no more often than the link is deep.
bool link_stays_inside(const std::string& name, const std::string& to);

}  // namespace cay::client
