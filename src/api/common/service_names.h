// Names of services on the outside. A service has the host ID--PORT.DOMAIN, and files have
// ID--dl.DOMAIN. If no name leads to these hosts, paths of the daemon's own host stand for them:
// /svc/ID/PORT and /dl/ID.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "model/ids.h"

namespace cay::api {

struct ServicePlace {
  SandboxId sandbox;
  std::uint16_t port = 0;  // 0: files
};

// How the outside sees services.
struct ServiceNames {
  std::string domain = "localhost";
  bool local = true;      // the default domain: it leads here from this machine alone, and from
                          // browsers at least
  bool resolves = false;  // ... and from programs, too: their resolver knows *.localhost
  std::string scheme{},
      port{};  // of the public URL ("https", ":8443" or ""); scheme empty: as the request has them

  // Whether `host` is under the domain (not the domain itself).
  bool is_service_host(std::string_view host) const;
};

// Returns the place of a host under the domain. nullopt: it names no service.
std::optional<ServicePlace> place_of_host(std::string_view host, const ServiceNames& names);
std::optional<ServicePlace> place_of(std::string_view sandbox, std::string_view port);

struct ServiceUrls {
  std::string base;     // for programs, which send the token; no '/' at its end
  std::string browser;  // where browsers begin, with the token; empty: no name leads browsers here
};
// In the path of a service: "/svc/ID/PORT~TOKEN" opens it without a header.
inline constexpr const char* kTokenMark = "~";

ServiceUrls service_urls(const ServiceNames& names, const http::RequestHead& head,
                         const ServicePlace& place, const std::string& token);
// Returns whether browsers treat the requested origin as trustworthy (Secure Contexts, 3.1): https,
// or a name of the browser's own machine. To other origins they do not send which page requests.
bool is_trustworthy(const http::RequestHead& head);
std::string download_url(const ServiceNames& names, const http::RequestHead& head,
                         const SandboxId& sandbox, const std::string& token);

}  // namespace cay::api
