#include "image/routes.h"

#include <algorithm>
#include <string_view>

#include "base/ip_address.h"

namespace cay::image {
namespace {

// `entry`: "*", a host, or a domain with all below it.
bool names(std::string_view entry, std::string_view host) {
  if (entry == "*" || host == entry) return true;
  if (entry.starts_with("*.")) entry.remove_prefix(2);
  if (entry.starts_with('.')) entry.remove_prefix(1);
  return host == entry || (!entry.empty() && host.size() > entry.size() && host.ends_with(entry) &&
                           host[host.size() - entry.size() - 1] == '.');
}

}  // namespace

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
    return std::ranges::any_of(direct, [&](const std::string& entry) {
      const auto network = Network::parse(entry);
      return names(entry, host) ||
             (network && std::ranges::any_of(addresses, [&](const IpAddress& one) {
                return network->contains(one);
              }));
    });
  };
  return out;
}

}  // namespace cay::image
