// ContainerEngine: images that Docker or Podman has on this machine.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "cay/client.h"
#include "cli/context.h"

namespace cay::cli {

// An image in the store of an engine: "docker-daemon:NAME" or "podman:NAME".
struct EngineImage {
  enum class Engine { kDocker, kPodman } engine = Engine::kDocker;
  std::string name;
};
std::optional<EngineImage> engine_image_from(std::string_view text);

// Reads the image out of the engine into a snapshot, which is being built then. `name` empty: the
// image's. Throws ApiError kUnavailable engine_unreachable, kNotFound image_not_found.
sdk::Snapshot import_from_engine(Context& at, const EngineImage& image, const std::string& name);

}  // namespace cay::cli
