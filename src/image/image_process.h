// The process that fetches and reads images: it accepts the daemon's connections to
// DATA/images/images.sock. Each is served by a confined process of its own, so what breaks that
// one ends one pull.
#pragma once
#include <cstdint>

#include "image/settings.h"

namespace cay::image {

inline constexpr const char* kSocket = "images.sock";

enum class Life : std::uint8_t {
  kAlways,       // under a supervisor of its own
  kWhileNeeded,  // while a daemon is connected
};

struct ProcessConfig {
  Settings settings;
  int directory = -1;  // DATA/images, open
  Life life = Life::kAlways;
};

// Serves until it is not needed any more (then 0) or cannot go on; the exit code.
int run_images(const ProcessConfig& config);

}  // namespace cay::image
