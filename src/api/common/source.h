// Byte sources of the facades.
#pragma once
#include <cstdint>
#include <memory>

#include "async/bytes.h"

namespace cay::api {

// Returns exactly `length` bytes of `inner`. Fails kLost when it ends earlier (a file that shrank
// while it was read), and stops there when it has more (one that grew).
std::unique_ptr<ByteSource> exactly(std::unique_ptr<ByteSource> inner, std::uint64_t length);

}  // namespace cay::api
