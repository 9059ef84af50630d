// An HTTP proxy as settings and environments name it: http://[USER:PASSWORD@]HOST[:PORT], and the
// list of hosts that are reached without it (NO_PROXY).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "base/result.h"

namespace cay::http {

struct ProxyUrl {
  std::string host;  // lower case; of an IPv6 address without its brackets
  std::uint16_t port = 0;
  std::optional<std::string> credentials{};  // "user:password", decoded; a secret
};

// A URL without a scheme is one of http. Fails kInvalidArgument (bad_proxy), without the address in
// its text, which may contain a password.
Result<ProxyUrl> parse_proxy_url(std::string_view url);

// An entry of NO_PROXY: a host, a domain with all below it, an address, a network, or "*". A port
// in it means nothing here. Empty: it names nothing.
std::string no_proxy_entry(std::string_view text);
// The entries of a list with commas.
std::vector<std::string> no_proxy_entries(std::string_view list);

// Whether an entry names the host, or one of its addresses.
bool is_without_proxy(const std::vector<std::string>& entries, std::string_view host,
                      const std::vector<IpAddress>& addresses);

}  // namespace cay::http
