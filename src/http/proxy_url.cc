#include "http/proxy_url.h"

#include <algorithm>
#include <charconv>

#include "base/ascii.h"
#include "http/target.h"

namespace cay::http {
namespace {

constexpr std::uint16_t kUsualPort = 80;  // of http://
constexpr const char* kForm = "it is no address: http://USER:PASSWORD@HOST:PORT";

Error bad_proxy(const char* why) { return {Code::kInvalidArgument, "bad_proxy", why, 0}; }

// "user:password", which may have escapes in it.
std::optional<std::string> credentials_of(std::string_view user) {
  const auto colon = user.find(':');
  const auto name = percent_decode(user.substr(0, colon), Plus::kLiteral);
  const auto password =
      percent_decode(colon == std::string_view::npos ? std::string_view() : user.substr(colon + 1),
                     Plus::kLiteral);
  if (!name || !password || name->find(':') != std::string::npos) return std::nullopt;
  return *name + ":" + *password;
}

// `entry`: "*", a host, or a domain with all below it.
bool names_host(std::string_view entry, std::string_view host) {
  if (entry == "*" || host == entry) return true;
  if (entry.starts_with("*.")) entry.remove_prefix(2);
  if (entry.starts_with('.')) entry.remove_prefix(1);
  return host == entry || (!entry.empty() && host.size() > entry.size() && host.ends_with(entry) &&
                           host[host.size() - entry.size() - 1] == '.');
}

}  // namespace

Result<ProxyUrl> parse_proxy_url(std::string_view url) {
  ProxyUrl out;
  std::string_view rest = url;
  if (const auto scheme = rest.find("://"); scheme != std::string_view::npos) {
    if (lowered(rest.substr(0, scheme)) != "http")
      return bad_proxy("only http:// is spoken with a proxy");
    rest.remove_prefix(scheme + 3);
  }
  rest = rest.substr(0, rest.find('/'));
  const auto at = rest.rfind('@');
  if (at != std::string_view::npos) {
    out.credentials = credentials_of(rest.substr(0, at));
    if (!out.credentials)
      return bad_proxy(
          "its user and password cannot be read; special characters are written as %XX");
    rest.remove_prefix(at + 1);
  }
  std::string_view host = rest, port;
  if (rest.starts_with('[')) {
    const auto end = rest.find(']');
    if (end == std::string_view::npos) return bad_proxy(kForm);
    host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
    if (rest.starts_with(':')) port = rest.substr(1);
  } else if (const auto colon = rest.rfind(':'); colon != std::string_view::npos) {
    host = rest.substr(0, colon);
    port = rest.substr(colon + 1);
  }
  out.port = kUsualPort;
  const auto [end, wrong] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  const bool plain = std::ranges::all_of(
      host, [](char c) { return c > ' ' && c < 0x7f && c != '/' && c != '@' && c != '?'; });
  const bool bad_port =
      !port.empty() && (wrong != std::errc() || end != port.data() + port.size() || out.port == 0);
  if (host.empty() || !plain || bad_port) return bad_proxy(kForm);
  out.host = lowered(host);
  return out;
}

std::string no_proxy_entry(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '.'))
    text.remove_suffix(1);
  if (text.starts_with('[')) {
    text = text.substr(1, text.find(']') - 1);
    return lowered(text);
  }
  const auto colon = text.rfind(':');
  if (colon != std::string_view::npos && !IpAddress::parse(text) && !Network::parse(text))
    text = text.substr(0, colon);
  return lowered(text);
}

std::vector<std::string> no_proxy_entries(std::string_view list) {
  std::vector<std::string> out;
  while (!list.empty()) {
    const std::string_view one = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), one.size() + 1));
    if (std::string entry = no_proxy_entry(one); !entry.empty()) out.push_back(std::move(entry));
  }
  return out;
}

bool is_without_proxy(const std::vector<std::string>& entries, std::string_view host,
                      const std::vector<IpAddress>& addresses) {
  return std::ranges::any_of(entries, [&](const std::string& entry) {
    const auto network = Network::parse(entry);
    return names_host(entry, host) ||
           (network && std::ranges::any_of(addresses, [&](const IpAddress& one) {
              return network->contains(one);
            }));
  });
}

}  // namespace cay::http
