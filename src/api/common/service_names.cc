#include "api/common/service_names.h"

#include <algorithm>

#include "base/ascii.h"
#include "http/text.h"

namespace cay::api {
namespace {

// "[::1]:80" -> "", as no service is named by an address.
std::string_view name_of(std::string_view host) {
  if (host.starts_with('[')) return {};
  return http::relative_name(host.substr(0, host.find(':')));
}

std::string_view port_of(std::string_view host) {
  const auto bracket = host.rfind(']');
  const auto colon = host.rfind(':');
  if (colon == std::string_view::npos || (bracket != std::string_view::npos && colon < bracket))
    return {};
  return host.substr(colon);
}

bool means_this_machine(std::string_view host) {
  const std::string name = lowered(name_of(host));
  return host.starts_with("[::1]") || name == "localhost" || name.ends_with(".localhost") ||
         name.starts_with("127.");
}

std::string host_form(const ServiceNames& names, const http::RequestHead& head,
                      const ServicePlace& place) {
  const std::string kind = place.port == 0 ? "dl" : std::to_string(place.port);
  const std::string name = place.sandbox.get() + "--" + kind + "." + names.domain;
  if (!names.scheme.empty()) return names.scheme + "://" + name + names.port;
  return head.scheme + "://" + name + std::string(port_of(head.host));
}

std::string path_form(const http::RequestHead& head, const ServicePlace& place) {
  const std::string origin = head.scheme + "://" + head.host;
  if (place.port == 0) return origin + "/dl/" + place.sandbox.get();
  return origin + "/svc/" + place.sandbox.get() + "/" + std::to_string(place.port);
}

bool browsers_find(const ServiceNames& names, const http::RequestHead& head) {
  return !names.local || means_this_machine(head.host);
}
bool programs_find(const ServiceNames& names, const http::RequestHead& head) {
  return browsers_find(names, head) && (!names.local || names.resolves);
}

}  // namespace

bool ServiceNames::is_service_host(std::string_view host) const {
  const std::string_view name = name_of(host);
  return name.size() > domain.size() + 1 && name[name.size() - domain.size() - 1] == '.' &&
         equals_ignoring_case(name.substr(name.size() - domain.size()), domain);
}

std::optional<ServicePlace> place_of(std::string_view sandbox, std::string_view port) {
  constexpr std::size_t kMostDigits = 5;
  const bool number = !port.empty() && port.size() <= kMostDigits && port.front() != '0' &&
                      std::all_of(port.begin(), port.end(), is_digit);
  const unsigned long value = number ? std::stoul(std::string(port)) : 0;
  if (!is_uuid(sandbox) || value == 0 || value > 65535) return std::nullopt;
  return ServicePlace{SandboxId(std::string(sandbox)), static_cast<std::uint16_t>(value)};
}

std::optional<ServicePlace> place_of_host(std::string_view host, const ServiceNames& names) {
  if (!names.is_service_host(host)) return std::nullopt;
  const std::string name = lowered(name_of(host));
  const std::string_view label =
      std::string_view(name).substr(0, name.size() - names.domain.size() - 1);
  const auto dashes = label.rfind("--");
  if (dashes == std::string_view::npos) return std::nullopt;
  const auto sandbox = label.substr(0, dashes);
  const auto kind = label.substr(dashes + 2);
  if (kind == "dl" && is_uuid(sandbox)) return ServicePlace{SandboxId(std::string(sandbox)), 0};
  return place_of(sandbox, kind);
}

ServiceUrls service_urls(const ServiceNames& names, const http::RequestHead& head,
                         const ServicePlace& place, const std::string& token) {
  ServiceUrls out;
  out.base = programs_find(names, head) ? host_form(names, head, place) : path_form(head, place);
  if (browsers_find(names, head))
    out.browser = host_form(names, head, place) + "/_svc/auth?token=" + token;
  return out;
}

bool is_trustworthy(const http::RequestHead& head) {
  const std::string name = lowered(name_of(head.host));
  return head.scheme == "https" || name == "localhost" || name.ends_with(".localhost");
}

std::string download_url(const ServiceNames& names, const http::RequestHead& head,
                         const SandboxId& sandbox, const std::string& token) {
  const ServicePlace place{sandbox, 0};
  return (programs_find(names, head) ? host_form(names, head, place) : path_form(head, place)) +
         "/" + token;
}

}  // namespace cay::api
