// PublicUrl: scheme, host and peer of a request as the client sees them, behind a proxy too.
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

class PublicUrl {
 public:
  PublicUrl() = default;
  // `public_url` is such as "https://cay.example:8443". Empty means that there is none.
  // `trusted_proxies` has addresses and networks ("10.0.0.0/8", "::1"). Their X-Forwarded-Proto,
  // -Host and -For are accepted. Hosts below `service_domain` have the scheme of the public URL.
  // Fails: kInvalidArgument (bad_public_url, bad_trusted_proxy).
  static Result<PublicUrl> create(const std::string& public_url,
                                  const std::vector<std::string>& trusted_proxies,
                                  const std::string& service_domain = "");

  // The host of the public URL without its port. Empty if there is none.
  const std::string& host() const { return host_; }

  // Returns `head` with the scheme, host and peer that the client has, or nothing if all are the
  // same. To be called before the Host is checked.
  std::optional<http::RequestHead> seen(const http::RequestHead& head) const;

 private:
  bool trusts(std::string_view peer) const;

  std::string scheme_, authority_, host_;  // of the public URL
  std::string domain_;                     // ".box.example.org", if there is a public URL
  std::vector<asio::ip::network_v4> v4_;
  std::vector<asio::ip::network_v6> v6_;
};

}  // namespace cay::server
