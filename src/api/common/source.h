// Small byte sources and sinks of the facades.
#pragma once
#include <memory>

#include "async/task.h"

namespace cay::api {

// Bytes in memory, in chunks of 64 KiB.
std::unique_ptr<ByteSource> source_of(Bytes bytes);

// Exactly `length` bytes of `inner`: fails kLost when it ends earlier (a file that shrank while it
// was read), and stops there when it has more (one that grew).
std::unique_ptr<ByteSource> exactly(std::unique_ptr<ByteSource> inner, std::uint64_t length);

// All of it; kInvalidArgument body_too_large past `most`.
Task<Bytes> read_all(std::unique_ptr<ByteSource> source, std::uint64_t most);

// The first `most` bytes, and whether there were more.
struct Head {
  Bytes bytes;
  bool more = false;
};
Task<Head> read_head(std::unique_ptr<ByteSource> source, std::uint64_t most);

}  // namespace cay::api
