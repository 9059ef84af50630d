// Tar streams of a sandbox's directory, one out and one in. src/archive reads and writes the
// format. These streams suspend where it would block. They hold a few chunks of memory, whatever
// the size of the archive.
#pragma once
#include <memory>
#include <string>

#include "archive/tar_parser.h"
#include "core/ports/runtime.h"

namespace cay::api {

// `root_name`: what the entry is called when the tree is a single file. Sockets, FIFOs and devices
// are left out, and so is a directory that lies too deep: each is named (codec/left_out.h).
std::unique_ptr<ByteSource> tar_of(std::unique_ptr<core::TreeSource> tree, std::string root_name);

using archive::TarLimits;

// Fails as archive::parse_tar, and kExhausted: no_thread. The first next() starts a thread, which
// the destructor ends. If next() is cancelled, the source may only be destroyed.
std::unique_ptr<core::TreeSource> tree_of_tar(std::unique_ptr<ByteSource> tar,
                                              TarLimits limits = {});

}  // namespace cay::api
