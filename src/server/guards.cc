#include "server/guards.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/ip_address.h"
#include "http/text.h"
#include "server/key_rule.h"

namespace cay::server {
namespace {

bool ends_with(std::string_view text, std::string_view tail) {
  return text.size() >= tail.size() && text.substr(text.size() - tail.size()) == tail;
}

bool is_ipv4_loopback(std::string_view host) {
  if (host.substr(0, 4) != "127.") return false;
  return host.find_first_not_of("0123456789.") == std::string_view::npos &&
         std::count(host.begin(), host.end(), '.') == 3;
}

}  // namespace

std::string host_without_port(std::string_view host) {
  if (!host.empty() && host.front() == '[') {
    const auto end = host.find(']');
    return std::string(host.substr(1, end == std::string_view::npos ? end : end - 1));
  }
  const auto colon = host.find(':');
  const bool bare =
      colon == std::string_view::npos || host.find(':', colon + 1) != std::string_view::npos;
  if (!bare) host = host.substr(0, colon);
  return std::string(http::relative_name(host));
}

bool is_loopback_host(std::string_view host) {
  const std::string name = lowered(host);
  return name == "localhost" || name == "::1" || ends_with(name, ".localhost") ||
         is_ipv4_loopback(name);
}

std::optional<Error> check_host(const http::RequestHead& head, const HostPolicy& policy) {
  const std::string host = lowered(host_without_port(head.host));
  if (host.empty())
    return Error{Code::kPermissionDenied, "wrong_host", "the request has no Host header", 0};
  if (!policy.loopback_only || is_loopback_host(host)) return std::nullopt;
  for (const auto& name : policy.names) {
    const std::string known = lowered(name);
    if (host == known || (!known.empty() && known.front() == '.' &&
                          (ends_with(host, known) || host == known.substr(1)))) {
      return std::nullopt;
    }
  }
  return Error{Code::kPermissionDenied, "wrong_host",
               "this daemon listens on loopback and is not '" + host +
                   "': use 127.0.0.1 or localhost, or start it with --public-url naming that host",
               0};
}

std::optional<Error> check_origin(const http::RequestHead& head, const http::KeyRule& rule) {
  const auto origin = head.headers.get("Origin");
  if (!origin || shows_key_by_itself(head, rule)) return std::nullopt;
  const std::string text = lowered(*origin);
  const auto scheme = text.find("://");
  const std::string_view authority =
      scheme == std::string::npos ? std::string_view() : std::string_view(text).substr(scheme + 3);
  if (!authority.empty() && authority == lowered(head.host)) return std::nullopt;
  return Error{
      Code::kPermissionDenied, "cross_origin",
      "requests from web pages of another origin need an API key in " + rule.places.front().header,
      0};
}

std::string network_of_peer(std::string_view peer) {
  constexpr std::size_t kNetworkBytes = 8;
  const auto host =
      peer.starts_with('[') ? peer.substr(1, peer.find(']') - 1) : peer.substr(0, peer.rfind(':'));
  const auto address = IpAddress::parse(host);
  if (!address) return std::string(host);
  if (address->is_v4()) return address->text();
  std::array<std::uint8_t, 16> network{};
  std::copy_n(address->bytes().begin(), kNetworkBytes, network.begin());
  return IpAddress::v6(network).text() + "/64";
}

std::optional<Error> check_listen(const std::string& listen, bool clear_or_tls) {
  const auto colon = listen.rfind(':');
  const bool digits = colon != std::string::npos && colon + 1 < listen.size() &&
                      listen.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  if (!digits || listen.size() - colon > 6 || std::stoul(listen.substr(colon + 1)) > 65535) {
    return Error{Code::kInvalidArgument, "bad_listen",
                 "'" + listen + "' is not ADDRESS:PORT, such as 127.0.0.1:8787", 0};
  }
  const std::string host = host_without_port(listen);
  if (is_loopback_host(host) || clear_or_tls) return std::nullopt;
  return Error{Code::kInvalidArgument, "needs_tls",
               "listening on " + host +
                   " would send keys in clear: give --tls (a certificate of Cay's own) or "
                   "--tls-cert and --tls-key; or listen on "
                   "127.0.0.1 behind a TLS proxy; or give --insecure-http",
               0};
}

}  // namespace cay::server
