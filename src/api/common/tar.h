// Tar streams: a directory of a sandbox out, and one in. libarchive writes and reads the format
// (docs/decisions/0007-tar.md); these streams suspend where it would block, and hold a few chunks
// of memory whatever the archive's size.
//
// Written: pax restricted, that is ustar with pax headers where a name, a link or a number needs
// one. Read: v7, ustar, pax and GNU, uncompressed, so that nothing in it is larger than what was
// sent. Nothing in an archive is believed: names are checked here, and resolved inside the sandbox
// only; set-user-id and set-group-id bits are not taken.
#pragma once
#include <memory>
#include <string>

#include "core/ports/runtime.h"

namespace cay::api {

// `root_name`: what the entry is called when the tree is a single file. Sockets, FIFOs and devices
// are left out, and so is a directory that lies too deep: each is named (codec/left_out.h).
std::unique_ptr<ByteSource> tar_of(std::unique_ptr<core::TreeSource> tree, std::string root_name);

struct TarLimits {
  std::uint64_t entries = 1'000'000;
  std::uint64_t bytes = 1ull << 40;  // of file contents; the disk's own limit comes first
  std::size_t path_bytes = 4095;     // PATH_MAX less the NUL
  std::size_t depth = 256;           // parts of a path
  std::size_t header_bytes =
      64 * 1024;  // of one entry's headers; what came in the same chunk is free
};

// Fails kInvalidArgument: malformed_tar, truncated_tar (no end mark included), unsafe_path
// (absolute,
// '..', NUL, too long, too deep), unsupported_entry (devices, FIFOs, hard links, sparse files),
// archive_too_large; kExhausted: no_thread. The source has a thread of its own from the first
// next() on, which its destructor ends; next() may be cancelled, and the source then only
// destroyed.
std::unique_ptr<core::TreeSource> tree_of_tar(std::unique_ptr<ByteSource> tar,
                                              TarLimits limits = {});

// The path of an entry as a tree transfer wants it: without "./" and trailing '/'. Fails
// unsafe_path.
Result<std::string> safe_entry_path(std::string_view name, const TarLimits& limits);

}  // namespace cay::api
