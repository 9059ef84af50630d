// Platform: the system and the processor that an image is for.
#pragma once
#include <string>
#include <string_view>

#include "base/result.h"

namespace cay::image {

struct Platform {
  std::string os, architecture, variant{};
  std::string text() const {
    return os + "/" + architecture + (variant.empty() ? "" : "/" + variant);
  }
};

// "linux/arm64/v8"; empty: this host's. Fails kInvalidArgument bad_reference.
Result<Platform> parse_platform(std::string_view text);

}  // namespace cay::image
