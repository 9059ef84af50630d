// Outside: how clients see this daemon, where something stands between them and it.
#pragma once
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.h"
#include "base/result.h"
#include "http/message.h"

namespace cay::server {

class Outside {
 public:
  Outside() = default;
  // `public_url`: "https://cay.example" or "https://cay.example:8443"; empty: none. `trusted_proxies`:
  // addresses and networks ("10.0.0.0/8", "::1") whose X-Forwarded-Proto, -Host and -For are believed.
  // `service_domain`: hosts below it have the public URL's scheme. kInvalidArgument (bad_public_url, bad_trusted_proxy).
  static Result<Outside> create(const std::string& public_url, const std::vector<std::string>& trusted_proxies,
                                const std::string& service_domain = "");

  // The host of the public URL, without port; empty: none.
  const std::string& host() const { return host_; }

  // What of `head` is told differently: scheme, host and peer as the client of the proxy has them. To be done
  // before the Host is checked. nullopt: nothing.
  std::optional<http::RequestHead> seen(const http::RequestHead& head) const;

 private:
  bool trusts(std::string_view peer) const;

  std::string scheme_, authority_, host_;  // of the public URL
  std::string domain_;                     // ".box.example.org", if there is a public URL
  std::vector<asio::ip::network_v4> v4_;
  std::vector<asio::ip::network_v6> v6_;
};

}  // namespace cay::server
