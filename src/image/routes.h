// The operator's settings define how the image process reaches a registry: by its mirrors, and
// through a proxy.
#pragma once
#include <string>
#include <vector>

#include "http/client.h"
#include "image/settings.h"
#include "image/url.h"

namespace cay::image {

// Returns the mirrors of a registry, in the order in which they are tried.
std::vector<Url> mirrors_of(const Settings& settings, const std::string& registry);

http::ClientProxy proxy_of(const Settings& settings);

}  // namespace cay::image
