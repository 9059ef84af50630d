// These functions read and write the configuration of an image. It defines how programs run, and
// has the digests of the plain layers.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "image/platform.h"
#include "model/snapshot.h"

namespace cay::image {

struct ImageDescription {
  ImageConfig config;
  std::vector<std::string> diff_ids;  // "sha256:..." of each plain layer, the lowest first
  Platform platform;
};

// Fails kInvalidArgument bad_image.
Result<ImageDescription> parse_image_config(std::string_view text);

// Writes such a configuration, for a push.
std::string write_image_config(const ImageDescription& image);

}  // namespace cay::image
