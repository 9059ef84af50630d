// RemoteImages: core::Images by the image process of a data directory.
#pragma once
#include <memory>
#include <string>

#include "core/ports/images.h"

namespace cay::image {

// `socket`: the path of DATA/images/images.sock. Besides what core::Images names, its calls fail
// kUnavailable images_unavailable: the process does not answer, or it died.
std::unique_ptr<core::Images> remote_images(asio::any_io_executor loop, std::string socket);

}  // namespace cay::image
