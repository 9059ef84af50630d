// One conversation with the daemon (wire/image.h), in the confined process that serves it.
#pragma once
#include "base/unique_fd.h"
#include "image/blob_store.h"
#include "image/settings.h"

namespace cay::image {

// Serves until the daemon ends the connection. It blocks.
void converse(UniqueFd socket, BlobStore store, const Settings& settings);

}  // namespace cay::image
