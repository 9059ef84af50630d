// Random bytes of the kernel, for keys and nonces.
#pragma once
#include <cstddef>
#include <string>

#include "base/result.h"

namespace cay::os {

// Waits, at the host's start, until the kernel has collected enough. At most 256 bytes.
Result<std::string> random_bytes(std::size_t count);

}  // namespace cay::os
