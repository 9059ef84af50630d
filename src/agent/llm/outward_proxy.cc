#include "agent/llm/outward_proxy.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "codec/base64.h"
#include "http/proxy_url.h"

namespace cay::agent {
namespace {

struct Variable {
  std::string name, value;
};

// The first one that is set, in upper or lower case.
std::optional<Variable> first_set(const Environment& environment,
                                  std::initializer_list<const char*> names) {
  for (const char* name : names) {
    for (const std::string& spelled : {std::string(name), lowered(name)}) {
      if (auto value = environment(spelled)) return Variable{spelled, *std::move(value)};
    }
  }
  return std::nullopt;
}

bool is_loopback_address(const IpAddress& address) {
  constexpr std::uint8_t kLoopback = 127;  // the first byte
  return address.is_v4() ? address.v4_bytes().front() == kLoopback : address.text() == "::1";
}

}  // namespace

http::ClientProxy outward_proxy(std::string_view url, const Environment& environment) {
  const bool secure = url.starts_with("https://");
  if (!secure && !url.starts_with("http://")) return http::ClientProxy{};
  const auto found = first_set(environment, {secure ? "HTTPS_PROXY" : "HTTP_PROXY", "ALL_PROXY"});
  if (!found) return http::ClientProxy{};
  http::ClientProxy out;
  if (const auto parsed = http::parse_proxy_url(found->value)) {
    out.host = parsed->host;
    out.port = parsed->port;
    if (parsed->credentials) out.authorization = "Basic " + codec::base64(*parsed->credentials);
    out.forwards = true;
  } else {
    out.unusable = "the environment's " + found->name + ": " + parsed.error().message;
  }
  const auto list = first_set(environment, {"NO_PROXY"});
  out.is_direct = [direct = http::no_proxy_entries(list ? list->value : "")](
                      const std::string& host, const std::vector<IpAddress>& addresses) {
    return host == "localhost" || std::ranges::any_of(addresses, is_loopback_address) ||
           http::is_without_proxy(direct, host, addresses);
  };
  return out;
}

}  // namespace cay::agent
