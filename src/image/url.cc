#include "image/url.h"

#include <algorithm>

namespace cay::image {
namespace {

constexpr std::size_t kMostUrl = 16 * 1024;  // signed addresses are long

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7f && std::string_view("\"<>\\^`{|}").find(c) == std::string_view::npos;
  });
}

}  // namespace

std::string Url::authority() const {
  const std::string named = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == (secure ? "443" : "80") ? named : named + ":" + port;
}

std::optional<Url> parse_url(std::string_view text) {
  if (text.size() > kMostUrl || !is_plain(text)) return std::nullopt;
  Url out;
  if (text.starts_with("https://")) {
    text.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    out.secure = false;
    text.remove_prefix(7);
  } else {
    return std::nullopt;
  }
  text = text.substr(0, text.find('#'));
  const auto end = std::min(text.find_first_of("/?"), text.size());
  std::string_view authority = text.substr(0, end);
  text.remove_prefix(end);
  out.target = text.starts_with('/') ? std::string(text) : "/" + std::string(text);
  if (authority.find('@') != std::string_view::npos) return std::nullopt;
  out.port = out.secure ? "443" : "80";
  std::string_view after;
  if (authority.starts_with('[')) {
    const auto close = authority.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    out.host = std::string(authority.substr(1, close - 1));
    after = authority.substr(close + 1);
    if (out.host.find(':') == std::string::npos) return std::nullopt;
  } else {
    const auto colon = std::min(authority.find(':'), authority.size());
    out.host = std::string(authority.substr(0, colon));
    after = authority.substr(colon);
  }
  if (!after.empty()) {
    constexpr std::size_t kDigits = 5;
    const std::string_view port = after.substr(1);
    if (!after.starts_with(':') || port.empty() || port.size() > kDigits ||
        port.find_first_not_of("0123456789") != std::string_view::npos ||
        std::stoul(std::string(port)) > 0xffff)
      return std::nullopt;
    out.port = std::string(port);
  }
  if (out.host.empty()) return std::nullopt;
  return out;
}

std::optional<Url> resolve(const Url& from, std::string_view location) {
  if (location.starts_with("//"))
    return parse_url((from.secure ? "https:" : "http:") + std::string(location));
  if (location.starts_with('/')) return parse_url(from.origin() + std::string(location));
  return parse_url(location);
}

}  // namespace cay::image
