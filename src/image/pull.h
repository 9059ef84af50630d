// Pulls an image from a registry into the store.
#pragma once
#include "async/task.h"
#include "core/ports/images.h"
#include "image/blob_store.h"
#include "image/open_image.h"

namespace cay::image {

// Fails as core::Images::pull() does.
Task<FetchedImage> pull_image(asio::any_io_executor loop, core::PullRequest request,
                              std::string more_ca_file, const BlobStore& store, core::Told told);

}  // namespace cay::image
