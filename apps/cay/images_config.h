// ImagesConfig: the sections [images] and [images.mirrors] of the settings, and what follows from
// them for the image process.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "image/settings.h"
#include "network_config.h"

namespace cay::app {

struct ImagesConfig {
  std::map<std::string, std::vector<std::string>> mirrors;  // by registry, tried in their order
  std::string ca_file;                                      // authorities besides the system's
  std::uint64_t cache_bytes = 0;                            // 0: as usual
};

// Fails kInvalidArgument (bad_config).
Result<void> check_images(const ImagesConfig& config);

// Returns the settings of the image process for a data directory. Without images.ca_file the
// variable SSL_CERT_FILE names authorities besides the system's.
image::Settings image_settings(const ImagesConfig& config, const NetworkConfig& network,
                               const std::string& data, uid_t daemon);

}  // namespace cay::app
