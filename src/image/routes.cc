#include "image/routes.h"

#include <algorithm>

#include "base/ip_address.h"
#include "http/proxy_url.h"

namespace cay::image {
std::vector<Url> mirrors_of(const Settings& settings, const std::string& registry) {
  std::vector<Url> out;
  for (const Mirror& one : settings.mirrors) {
    if (one.registry != registry) continue;
    if (auto url = parse_url(one.url)) out.push_back(*std::move(url));
  }
  return out;
}

http::ClientProxy proxy_of(const Settings& settings) {
  http::ClientProxy out;
  out.host = settings.proxy.host;
  out.port = static_cast<std::uint16_t>(settings.proxy.port);
  out.authorization = settings.proxy.authorization;
  out.is_direct = [direct = settings.proxy.not_for](const std::string& host,
                                                    const std::vector<IpAddress>& addresses) {
    if (std::ranges::any_of(addresses, [](const IpAddress& one) { return is_special(one); }))
      return true;
    return http::is_without_proxy(direct, host, addresses);
  };
  return out;
}

}  // namespace cay::image
