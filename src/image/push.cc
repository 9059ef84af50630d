#include "image/push.h"

#include <utility>

#include "codec/json.h"
#include "image/image_config.h"
#include "image/json_fields.h"
#include "image/platform.h"
#include "image/reference.h"
#include "image/registry.h"

namespace cay::image {
namespace {

constexpr const char* kOfManifest = "application/vnd.oci.image.manifest.v1+json";
constexpr const char* kOfConfig = "application/vnd.oci.image.config.v1+json";
constexpr const char* kOfLayer = "application/vnd.oci.image.layer.v1.tar+gzip";

json::object descriptor(const char* type, const std::string& digest, std::uint64_t size) {
  return {{"mediaType", type}, {"digest", digest}, {"size", size}};
}

}  // namespace

Task<std::string> push_image(asio::any_io_executor loop, core::PushRequest request,
                             std::string more_ca_file, const BlobStore& store,
                             std::vector<WrittenLayer> layers, core::Told told) {
  CAY_CO_TRY(const Reference reference, parse_reference(request.reference));
  if (!reference.digest.empty()) {
    co_return Error{Code::kInvalidArgument, "bad_reference",
                    "an image is pushed to a tag: its digest follows from its content", 0};
  }
  ImageDescription described;
  CAY_CO_TRY(described.platform, parse_platform(""));
  described.config = std::move(request.config);
  json::array listed;
  for (const WrittenLayer& layer : layers) {
    described.diff_ids.push_back(layer.diff_id);
    listed.emplace_back(descriptor(kOfLayer, layer.digest, layer.size));
  }
  const std::string config = write_image_config(described);
  json::object manifest;
  manifest["schemaVersion"] = 2;
  manifest["mediaType"] = kOfManifest;
  manifest["config"] = descriptor(kOfConfig, digest_of(config), config.size());
  manifest["layers"] = std::move(listed);
  std::string text = codec::write(manifest);
  std::string digest = digest_of(text);

  RegistryAccess access;
  access.reference = reference;
  access.login = std::move(request.login);
  access.special_network = request.special_network;
  access.more_ca_file = std::move(more_ca_file);
  access.rights = "pull,push";
  Registry registry(std::move(loop), std::move(access), told);
  CAY_CO_CHECK(co_await registry.open());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    told(request.reference + ": pushing layer " + std::to_string(i + 1) + " of " +
         std::to_string(layers.size()));
    CAY_CO_CHECK(co_await registry.upload(layers[i].digest, layers[i].file.get(), layers[i].size));
  }
  CAY_CO_TRY(const UniqueFd file, store.temporary());
  CAY_CO_CHECK(write_all(file.get(), config));
  CAY_CO_CHECK(co_await registry.upload(digest_of(config), file.get(), config.size()));
  CAY_CO_CHECK(co_await registry.put_manifest(reference.tag, std::move(text)));
  co_return std::move(digest);
}

}  // namespace cay::image
