// Pushes an image to a registry.
#pragma once
#include <string>
#include <vector>

#include "async/task.h"
#include "core/ports/images.h"
#include "image/blob_store.h"
#include "image/layer_writer.h"
#include "image/settings.h"

namespace cay::image {

// Returns the digest of the manifest. Fails as core::Images::push() does.
Task<std::string> push_image(asio::any_io_executor loop, core::PushRequest request,
                             const Settings& settings, const BlobStore& store,
                             std::vector<WrittenLayer> layers, core::Told told);

}  // namespace cay::image
