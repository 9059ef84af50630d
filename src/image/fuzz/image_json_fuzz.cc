// Manifests, configurations, challenges and addresses of a registry. A value that passes has the
// form that its users rely on.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "image/challenge.h"
#include "image/digest.h"
#include "image/image_config.h"
#include "image/manifest.h"
#include "image/reference.h"
#include "image/url.h"

using namespace cay::image;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 5) {
    case 0: {
      const auto parsed = parse_manifest(text);
      if (!parsed) break;
      if (const auto* manifest = std::get_if<Manifest>(&*parsed)) {
        CAY_ASSERT(is_digest(manifest->config.digest) && manifest->layers.size() <= kMostLayers);
        for (const Descriptor& layer : manifest->layers)
          CAY_ASSERT(is_digest(layer.digest) && layer.size <= kMostBlobBytes);
      } else if (const auto chosen = choose(std::get<Index>(*parsed), {"linux", "amd64"})) {
        CAY_ASSERT(is_digest(chosen->digest));
      }
      break;
    }
    case 1: {
      const auto parsed = parse_image_config(text);
      if (!parsed) break;
      for (const std::string& id : parsed->diff_ids) CAY_ASSERT(is_digest(id));
      for (const auto& [name, value] : parsed->config.run.env)
        CAY_ASSERT(!name.empty() && (name + value).find('\0') == std::string::npos);
      const auto again = parse_image_config(write_image_config(*parsed));
      CAY_ASSERT(again && again->config.run.env == parsed->config.run.env &&
                 again->diff_ids == parsed->diff_ids);
      break;
    }
    case 2: {
      const auto parsed = parse_reference(text);
      if (!parsed) break;
      CAY_ASSERT(!parsed->version().empty() && !parsed->repository.empty());
      const std::string written = parsed->name() + (parsed->tag.empty() ? "" : ":" + parsed->tag) +
                                  (parsed->digest.empty() ? "" : "@" + parsed->digest);
      const auto again = parse_reference(written);
      CAY_ASSERT(again && again->name() == parsed->name() && again->tag == parsed->tag);
      break;
    }
    case 3: static_cast<void>(parse_challenge(text)); break;
    default: {
      const auto parsed = parse_url(text);
      if (!parsed) break;
      CAY_ASSERT(!parsed->host.empty() && parsed->target.starts_with('/'));
      CAY_ASSERT(parsed->target.find_first_of(" \r\n") == std::string::npos);
      const auto again = parse_url(parsed->origin() + parsed->target);
      CAY_ASSERT(again && again->host == parsed->host && again->target == parsed->target);
    }
  }
  return 0;
}
