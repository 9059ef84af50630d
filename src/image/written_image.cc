#include "image/written_image.h"

#include <utility>

#include "codec/json.h"
#include "image/image_config.h"
#include "image/json_fields.h"
#include "image/platform.h"

namespace cay::image {
namespace {

constexpr const char* kOfConfig = "application/vnd.oci.image.config.v1+json";
constexpr const char* kOfLayer = "application/vnd.oci.image.layer.v1.tar+gzip";

json::object descriptor(const char* type, const std::string& digest, std::uint64_t size) {
  return {{"mediaType", type}, {"digest", digest}, {"size", size}};
}

}  // namespace

Result<WrittenImage> written_image(const ImageConfig& config,
                                   const std::vector<WrittenLayer>& layers) {
  ImageDescription described;
  CAY_TRY(described.platform, parse_platform(""));
  described.config = config;
  json::array listed;
  for (const WrittenLayer& layer : layers) {
    described.diff_ids.push_back(layer.diff_id);
    listed.emplace_back(descriptor(kOfLayer, layer.digest, layer.size));
  }
  WrittenImage out;
  out.config = write_image_config(described);
  json::object manifest;
  manifest["schemaVersion"] = 2;
  manifest["mediaType"] = kOfManifest;
  manifest["config"] = descriptor(kOfConfig, digest_of(out.config), out.config.size());
  manifest["layers"] = std::move(listed);
  out.manifest = codec::write(manifest);
  return out;
}

}  // namespace cay::image
