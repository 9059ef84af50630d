#include "image/push.h"

#include <utility>

#include "image/reference.h"
#include "image/registry.h"
#include "image/routes.h"
#include "image/written_image.h"

namespace cay::image {
Task<std::string> push_image(asio::any_io_executor loop, core::PushRequest request,
                             const Settings& settings, const BlobStore& store,
                             std::vector<WrittenLayer> layers, core::Told told) {
  CAY_CO_TRY(const Reference reference, parse_reference(request.reference));
  if (!reference.digest.empty()) {
    co_return Error{Code::kInvalidArgument, "bad_reference",
                    "an image is pushed to a tag: its digest follows from its content", 0};
  }
  CAY_CO_TRY(const WrittenImage image, written_image(request.config, layers));

  RegistryAccess access;
  access.reference = reference;
  access.login = std::move(request.login);
  access.special_network = request.special_network;
  access.more_ca_file = settings.authorities;
  access.proxy = proxy_of(settings);
  access.rights = "pull,push";
  Registry registry(std::move(loop), std::move(access), told);
  CAY_CO_CHECK(co_await registry.open());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    told(request.reference + ": pushing layer " + std::to_string(i + 1) + " of " +
         std::to_string(layers.size()));
    CAY_CO_CHECK(co_await registry.upload(layers[i].digest, layers[i].file.get(), layers[i].size));
  }
  CAY_CO_TRY(const UniqueFd file, store.temporary());
  CAY_CO_CHECK(write_all(file.get(), image.config));
  CAY_CO_CHECK(co_await registry.upload(digest_of(image.config), file.get(), image.config.size()));
  CAY_CO_CHECK(co_await registry.put_manifest(reference.tag, image.manifest));
  co_return digest_of(image.manifest);
}

}  // namespace cay::image
