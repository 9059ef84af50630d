#include "image/reference.h"

#include <utility>

#include "model/image_reference.h"

namespace cay::image {

std::string Reference::host() const {
  return registry == "docker.io" ? "registry-1.docker.io" : registry;
}

Result<Reference> parse_reference(std::string_view text) {
  CAY_TRY(ImageReference parts, read_image_reference(text));
  Reference out;
  out.registry = std::move(parts.registry);
  out.repository = std::move(parts.repository);
  out.tag = std::move(parts.tag);
  out.digest = std::move(parts.digest);
  if (out.tag.empty() && out.digest.empty()) out.tag = "latest";
  return out;
}

}  // namespace cay::image
