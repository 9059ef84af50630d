// Byte streams to and from memory.
#pragma once
#include <cstdint>
#include <memory>

#include "async/task.h"

namespace cay {

// Bytes in memory, in chunks of 64 KiB.
std::unique_ptr<ByteSource> source_of(Bytes bytes);

// All of it; kInvalidArgument body_too_large past `most`.
Task<Bytes> read_all(std::unique_ptr<ByteSource> source, std::uint64_t most);

// The first `most` bytes, and whether there were more.
struct Head {
  Bytes bytes;
  bool more = false;
};
Task<Head> read_head(std::unique_ptr<ByteSource> source, std::uint64_t most);

}  // namespace cay
