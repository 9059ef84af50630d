// How many sealed layers a sandbox can stand on.
#pragma once
#include <cstddef>

namespace cay {

// overlayfs allows 500, and each takes room in the options of the mount.
inline constexpr std::size_t kMostStackedLayers = 140;

}  // namespace cay
