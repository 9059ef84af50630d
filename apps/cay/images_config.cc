#include "images_config.h"

#include <cstdlib>
#include <optional>

#include "image/url.h"
#include "model/snapshot_request.h"

namespace cay::app {
namespace {

Error bad_images(const std::string& why) {
  return {Code::kInvalidArgument, "bad_config", "images." + why, 0};
}

// The registry of a name as images have it: "docker.io", "localhost:5000".
std::optional<std::string> registry_of(const std::string& text) {
  const auto named = image_reference_from(text + "/x");
  return named && named->repository == (named->registry == "docker.io" ? "library/x" : "x")
             ? std::optional(named->registry)
             : std::nullopt;
}

}  // namespace

Result<void> check_images(const ImagesConfig& config) {
  for (const auto& [registry, urls] : config.mirrors) {
    if (!registry_of(registry))
      return bad_images("mirrors: '" + registry +
                        "' is no registry: write \"docker.io\", or HOST:PORT");
    for (const std::string& url : urls) {
      const auto parsed = image::parse_url(url);
      if (!parsed || parsed->target.find('?') != std::string::npos)
        return bad_images("mirrors: the mirror of " + registry +
                          " is no http:// or https:// address without a user and a query");
    }
  }
  if (!config.ca_file.empty() && config.ca_file.front() != '/')
    return bad_images("ca_file: write an absolute path");
  return {};
}

image::Settings image_settings(const ImagesConfig& config, const NetworkConfig& network,
                               const std::string& data, uid_t daemon) {
  image::Settings out;
  out.data = data;
  out.daemon = daemon;
  out.authorities = config.ca_file;
  if (const char* file = std::getenv("SSL_CERT_FILE");
      out.authorities.empty() && file != nullptr && *file == '/')
    out.authorities = file;
  if (config.cache_bytes != 0) out.cache_bytes = config.cache_bytes;
  for (const auto& [registry, urls] : config.mirrors) {
    for (const std::string& url : urls)
      out.mirrors.push_back({registry_of(registry).value_or(registry), url});
  }
  const gate::ProxySettings& proxy = network.proxy;
  out.proxy = {proxy.host, proxy.port, proxy.authorization, proxy.not_for};
  return out;
}

}  // namespace cay::app
