// This header defines the entries of layers that write_layer() and read_layer() share.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace cay::keeper {

enum class LayerKind : std::uint8_t {  // core::EntryKind
  kFile = 1,
  kDirectory = 2,
  kSymlink = 3,
  kHardLink = 4,
  kFifo = 5,
  kGone = 6,
  kOpaque = 7,
};

// overlayfs keeps its own marks under these names, in a mount with "userxattr".
inline constexpr std::string_view kOverlayAttributes = "user.overlay.";
inline constexpr char kOpaqueAttribute[] = "user.overlay.opaque";

// Whether a layer carries this extended attribute.
inline bool is_layer_attribute(std::string_view name) {
  return name == "security.capability" ||
         (name.starts_with("user.") && !name.starts_with(kOverlayAttributes));
}

inline std::string layer_entry_name(const std::string& path) {
  return "the layer's entry \"" + (path.empty() ? "/" : path) + "\"";
}

inline Error bad_layer(const std::string& path, const std::string& why, int err = 0) {
  return {Code::kInvalidArgument, "bad_layer", layer_entry_name(path) + ": " + why, err};
}

}  // namespace cay::keeper
