#include "base/ascii.h"
#include "upstream_proxy.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/ip_address.h"
#include "base/sha256.h"
#include "codec/base64.h"
#include "http/proxy_url.h"

namespace cay::app {
namespace {

constexpr std::string_view kFromEnvironment = "environment";

Error bad_proxy(const std::string& why) {
  return {Code::kInvalidArgument, "bad_config", "network.upstream_proxy: " + why, 0};
}

std::string first_of(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = environment(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

}  // namespace

Result<void> set_upstream_proxy(gate::ProxySettings& to, const std::string& setting,
                                const std::vector<std::string>& no_proxy,
                                const Environment& environment) {
  to = {};
  std::string url = setting;
  std::vector<std::string> direct = no_proxy;
  if (setting == kFromEnvironment) {
    url = first_of(environment, {"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"});
    const std::string list = first_of(environment, {"NO_PROXY", "no_proxy"});
    const auto more = http::no_proxy_entries(list);
    direct.insert(direct.end(), more.begin(), more.end());
  }
  if (url.empty()) return {};
  const auto parsed = http::parse_proxy_url(url);
  if (!parsed) return bad_proxy(parsed.error().message);
  to.host = parsed->host;
  to.port = parsed->port;
  if (parsed->credentials) to.authorization = "Basic " + codec::base64(*parsed->credentials);
  for (const std::string& one : direct) {
    if (std::string entry = http::no_proxy_entry(one); !entry.empty())
      to.not_for.push_back(std::move(entry));
  }
  return {};
}

gate::ProxySettings without_password(gate::ProxySettings settings) {
  if (!settings.authorization.empty()) settings.authorization = sha256_hex(settings.authorization);
  return settings;
}

}  // namespace cay::app
