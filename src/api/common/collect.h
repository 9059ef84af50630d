// Reads a command to its end, keeping the first bytes of each stream.
#pragma once
#include <string>

#include "core/cay.h"

namespace cay::api {

struct Collected {
  Command command;      // with its end
  std::string out;
  std::string err;
  bool truncated = false;  // `out` and `err` do not hold all that was written up to the end
  bool too_large = false;  // no answer holds so much (kMostAnswer): `out` and `err` are empty
};

// Keeps at most `most` bytes of each stream, up to where a full spool dropped some; the rest is read and left in the spool.
Task<Collected> collect(core::Reader reader, std::uint64_t most);

// Bytes written up to the leader's end.
std::uint64_t bytes_at_end(const StreamExtent& extent);

}  // namespace cay::api
