// Writes an image as an OCI archive: the tar of an OCI layout.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "image/layer_writer.h"
#include "model/snapshot.h"

namespace cay::image {

// Gives the archive's bytes to `out`, piece by piece, and fails as `out` does. `name`: the image's,
// as "python:3.12". `layers`: the lowest first.
Result<void> write_oci_archive(const std::string& name, const ImageConfig& config,
                               const std::vector<WrittenLayer>& layers,
                               const std::function<Result<void>(std::string_view)>& out);

}  // namespace cay::image
