// Reads an image out of a file: an OCI layout, a `docker save` archive, or a tar of a root file
// system. The last is one layer without configuration. Each may be compressed by gzip or zstd.
#pragma once
#include "base/result.h"
#include "base/unique_fd.h"
#include "core/ports/images.h"
#include "image/blob_store.h"
#include "image/open_image.h"
#include "image/platform.h"

namespace cay::image {

// Blobs of an OCI layout go into the store. It blocks. Fails kInvalidArgument: bad_image,
// bad_layer, digest_mismatch; kNotFound image_not_found: not for this platform.
Result<FetchedImage> read_archive(UniqueFd file, const BlobStore& store, const Platform& platform,
                                  const core::Told& told);

// Reads a tar of files, whatever their names are, as one layer. Fails kInvalidArgument: bad_layer.
Result<FetchedImage> read_root_archive(UniqueFd file, const core::Told& told);

}  // namespace cay::image
