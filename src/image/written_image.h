// WrittenImage: the configuration and the manifest of an image whose layers Cay wrote.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "image/layer_writer.h"
#include "model/snapshot.h"

namespace cay::image {

inline constexpr const char* kOfManifest = "application/vnd.oci.image.manifest.v1+json";

struct WrittenImage {
  std::string config, manifest;  // JSON
};

// `layers`: the lowest first.
Result<WrittenImage> written_image(const ImageConfig& config,
                                   const std::vector<WrittenLayer>& layers);

}  // namespace cay::image
