#include "base/ascii.h"
#include "upstream_proxy.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include "base/ip_address.h"
#include "base/sha256.h"
#include "codec/base64.h"
#include "http/target.h"

namespace cay::app {
namespace {

constexpr std::uint16_t kUsualPort = 80;  // of http://
constexpr std::string_view kFromEnvironment = "environment";

Error bad_proxy(const std::string& why) {
  return {Code::kInvalidArgument, "bad_config", "network.upstream_proxy: " + why, 0};
}

std::string first_of(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = environment(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

// Returns an entry of NO_PROXY: a host, a domain with all below it, an address, a network, or "*".
// A port in it means nothing here.
std::string not_for(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '.'))
    text.remove_suffix(1);
  const auto colon = text.rfind(':');
  if (colon != std::string_view::npos && !IpAddress::parse(text) && !Network::parse(text))
    text = text.substr(0, colon);
  if (text.size() > 2 && text.front() == '[' && text.back() == ']')
    text = text.substr(1, text.size() - 2);
  return lowered(text);
}

// "user:password", which may have escapes in it, as the header's value.
std::optional<std::string> basic(std::string_view user) {
  const auto colon = user.find(':');
  const auto name = http::percent_decode(user.substr(0, colon), http::Plus::kLiteral);
  const auto password = http::percent_decode(
      colon == std::string_view::npos ? std::string_view() : user.substr(colon + 1),
      http::Plus::kLiteral);
  if (!name || !password || name->find(':') != std::string::npos) return std::nullopt;
  return "Basic " + codec::base64(*name + ":" + *password);
}

}  // namespace

Result<void> set_upstream_proxy(gate::ProxySettings& to, const std::string& setting,
                                const std::vector<std::string>& no_proxy,
                                const Environment& environment) {
  to = {};
  std::string url = setting;
  std::vector<std::string> direct = no_proxy;
  if (setting == kFromEnvironment) {
    url = first_of(environment, {"HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"});
    const std::string list = first_of(environment, {"NO_PROXY", "no_proxy"});
    for (std::string_view rest = list; !rest.empty();) {
      const std::string_view one = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
      direct.emplace_back(one);
    }
  }
  if (url.empty()) return {};
  std::string_view rest = url;
  if (const auto scheme = rest.find("://"); scheme != std::string_view::npos) {
    if (lowered(rest.substr(0, scheme)) != "http")
      return bad_proxy("only http:// is spoken with a proxy");
    rest.remove_prefix(scheme + 3);
  }
  rest = rest.substr(0, rest.find('/'));
  const auto at = rest.rfind('@');
  if (at != std::string_view::npos) {
    const auto header = basic(rest.substr(0, at));
    if (!header)
      return bad_proxy(
          "its user and password cannot be read; special characters are written as %XX");
    to.authorization = *header;
    rest.remove_prefix(at + 1);
  }
  std::string_view host = rest, port;
  if (rest.starts_with('[')) {
    const auto end = rest.find(']');
    if (end == std::string_view::npos)
      return bad_proxy("it is no address: http://USER:PASSWORD@HOST:PORT");
    host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    if (rest.starts_with(':')) port = rest.substr(1);
  } else if (const auto colon = rest.rfind(':'); colon != std::string_view::npos) {
    host = rest.substr(0, colon);
    port = rest.substr(colon + 1);
  }
  std::uint16_t number = kUsualPort;
  const auto [end, wrong] = std::from_chars(port.data(), port.data() + port.size(), number);
  const bool plain = std::ranges::all_of(
      host, [](char c) { return c > ' ' && c < 0x7f && c != '/' && c != '@' && c != '?'; });
  if (host.empty() || !plain ||
      (!port.empty() &&
       (wrong != std::errc() || end != port.data() + port.size() || number == 0))) {
    return bad_proxy("it is no address: http://USER:PASSWORD@HOST:PORT");
  }
  to.host = lowered(host);
  to.port = number;
  for (const std::string& one : direct) {
    if (std::string entry = not_for(one); !entry.empty()) to.not_for.push_back(std::move(entry));
  }
  return {};
}

gate::ProxySettings without_password(gate::ProxySettings settings) {
  if (!settings.authorization.empty()) settings.authorization = sha256_hex(settings.authorization);
  return settings;
}

}  // namespace cay::app
