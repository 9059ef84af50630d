// Pulls an image from a registry into the store.
#pragma once
#include "async/task.h"
#include "core/ports/images.h"
#include "image/blob_store.h"
#include "image/open_image.h"
#include "image/settings.h"

namespace cay::image {

// Tries the mirrors of its registry first, and then the registry. Fails as core::Images::pull()
// does.
Task<FetchedImage> pull_image(asio::any_io_executor loop, core::PullRequest request,
                              const Settings& settings, const BlobStore& store, core::Told told);

}  // namespace cay::image
