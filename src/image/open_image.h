// FetchedImage: an image of which everything is on this disk, however it came.
#pragma once
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "core/ports/images.h"

namespace cay::image {

struct LayerFile {
  UniqueFd file;       // compressed, or not
  std::string blob{};  // its digest in the store; empty: it is none of the store's
};

struct FetchedImage {
  core::ImageFacts facts;
  std::vector<LayerFile> layers;  // as in facts
};

}  // namespace cay::image
