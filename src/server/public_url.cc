#include "server/public_url.h"

#include <boost/asio/ip/address.hpp>

#include "base/ascii.h"
#include "server/guards.h"

namespace cay::server {
namespace {

// The proxy that speaks to us adds its own at the end of a list.
std::string_view last_of(std::string_view list) {
  return trimmed(list.substr(list.rfind(',') + 1));
}

// An address of IPv6 by itself looks as if its last part were a port.
std::string as_peer(std::string_view client) {
  boost::system::error_code wrong;
  const auto address = asio::ip::make_address_v6(std::string(client), wrong);
  return wrong ? std::string(client) : "[" + address.to_string() + "]";
}

bool ends_with_host(const std::string& host, const std::string& domain) {
  return host.size() > domain.size() &&
         equals_ignoring_case(host.substr(host.size() - domain.size()), domain);
}

bool is_authority(std::string_view text) {
  constexpr std::string_view kTaken =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:[]";
  return !text.empty() && text.find_first_not_of(kTaken) == std::string_view::npos;
}

Error bad_url(const std::string& url) {
  return {Code::kInvalidArgument, "bad_public_url",
          "the public URL '" + url +
              "' is not http:// or https:// with a host, and nothing behind it, such as "
              "https://cay.example",
          0};
}

Error bad_proxy(const std::string& text) {
  return {Code::kInvalidArgument, "bad_trusted_proxy",
          "'" + text + "' is neither an address nor a network, such as 10.1.2.3 or 10.0.0.0/8", 0};
}

}  // namespace

Result<PublicUrl> PublicUrl::create(const std::string& public_url,
                                    const std::vector<std::string>& trusted_proxies,
                                    const std::string& service_domain) {
  PublicUrl out;
  if (!public_url.empty() && !service_domain.empty()) out.domain_ = "." + service_domain;
  if (!public_url.empty()) {
    const auto end = public_url.find("://");
    out.scheme_ = public_url.substr(0, end);
    if (end == std::string::npos || (out.scheme_ != "http" && out.scheme_ != "https"))
      return bad_url(public_url);
    out.authority_ = public_url.substr(end + 3);
    if (out.authority_.ends_with('/')) out.authority_.pop_back();
    if (!is_authority(out.authority_)) return bad_url(public_url);
    out.host_ = host_without_port(out.authority_);
  }
  for (const auto& text : trusted_proxies) {
    boost::system::error_code wrong;
    const auto slash = text.find('/');
    const auto single = asio::ip::make_address(text.substr(0, slash), wrong);
    if (wrong) return bad_proxy(text);
    if (single.is_v4()) {
      out.v4_.push_back(slash == std::string::npos ? asio::ip::network_v4(single.to_v4(), 32)
                                                   : asio::ip::make_network_v4(text, wrong));
    } else {
      out.v6_.push_back(slash == std::string::npos ? asio::ip::network_v6(single.to_v6(), 128)
                                                   : asio::ip::make_network_v6(text, wrong));
    }
    if (wrong) return bad_proxy(text);
  }
  return out;
}

bool PublicUrl::trusts(std::string_view peer) const {
  boost::system::error_code wrong;
  auto at = asio::ip::make_address(std::string(peer.substr(0, peer.rfind(':'))), wrong);
  if (wrong) return false;
  if (at.is_v6() && at.to_v6().is_v4_mapped())
    at = asio::ip::make_address_v4(asio::ip::v4_mapped, at.to_v6());
  // Whether `at` is in a network: its own network of that length is the same.
  if (at.is_v4()) {
    for (const auto& network : v4_) {
      if (asio::ip::network_v4(at.to_v4(), network.prefix_length()).canonical() ==
          network.canonical())
        return true;
    }
    return false;
  }
  for (const auto& network : v6_) {
    if (asio::ip::network_v6(at.to_v6(), network.prefix_length()).canonical() ==
        network.canonical())
      return true;
  }
  return false;
}

std::optional<http::RequestHead> PublicUrl::seen(const http::RequestHead& head) const {
  std::string scheme = head.scheme, host = head.host, peer = head.peer;
  if ((!v4_.empty() || !v6_.empty()) && trusts(head.peer)) {
    // A proxy adds to the end of the list, or a line of its own behind those of the client.
    const auto told = [&head](std::string_view name) {
      std::string_view last;
      for (const auto& [known, value] : head.headers.items()) {
        if (equals_ignoring_case(known, name)) last = last_of(value);
      }
      return last;
    };
    if (const auto proto = told("X-Forwarded-Proto"); proto == "http" || proto == "https")
      scheme = proto;
    if (const auto name = told("X-Forwarded-Host"); is_authority(name)) host = name;
    if (const auto client = told("X-Forwarded-For"); is_authority(client)) peer = as_peer(client);
  }
  // A request to the public name gets the public URL, whatever proxies are in between.
  if (!host_.empty() && equals_ignoring_case(host_without_port(host), host_)) {
    scheme = scheme_;
    host = authority_;
  } else if (!domain_.empty() && ends_with_host(host_without_port(host), domain_)) {
    scheme = scheme_;  // services are behind the same proxy
  }
  if (scheme == head.scheme && host == head.host && peer == head.peer) return std::nullopt;
  http::RequestHead out = head;
  out.scheme = std::move(scheme);
  out.host = std::move(host);
  out.peer = std::move(peer);
  out.retold = true;
  return out;
}

}  // namespace cay::server
