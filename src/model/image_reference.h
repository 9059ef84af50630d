// The one rule for the names of images, as people write them: github.com/distribution/reference.
#pragma once
#include <string_view>

#include "base/result.h"
#include "model/snapshot_request.h"

namespace cay {

// Returns it in its parts, with docker.io and library/ where they are left out. Fails
// kInvalidArgument (bad_reference), with the reason.
Result<ImageReference> read_image_reference(std::string_view text);

// Whether it is "sha256:" and 64 lower-case hex digits.
bool is_image_digest(std::string_view text);

}  // namespace cay
