#include "client_settings.h"

#include <unistd.h>

#include <cstdlib>

#include "config.h"
#include "tls_config.h"

namespace cay::app {
namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != 0;
}

// An address that stands for all of the host's own is reached by loopback.
std::string url_of(const Config& config) {
  const auto colon = config.listen.rfind(':');
  std::string host = config.listen.substr(0, colon);
  if (host == "0.0.0.0" || host.empty()) host = "127.0.0.1";
  if (host == "[::]") host = "[::1]";
  // A certificate of the operator's own is for the name that clients use.
  if (!config.tls_cert.empty() && config.public_url.starts_with("https://"))
    return config.public_url;
  return (wants_tls(config) ? "https://" : "http://") + host + config.listen.substr(colon);
}

}  // namespace

void follow_installed_settings() {
  if (is_set("CAY_URL") || is_set("CAY_DATA") || ::access(kInstalledSettings, R_OK) != 0) return;
  Config config;
  if (!load_config(kInstalledSettings, config) || config.listen.find(':') == std::string::npos)
    return;
  ::setenv("CAY_URL", url_of(config).c_str(), 1);
  if (!config.data.empty()) ::setenv("CAY_DATA", config.data.c_str(), 1);
}

}  // namespace cay::app
