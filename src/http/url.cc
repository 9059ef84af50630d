// Urls: where a Client connects to.
#include "http/url.h"

#include <algorithm>
#include <charconv>

#include "http/text.h"

namespace cay::http {

namespace {

Error bad_url(std::string_view text, std::string_view why) {
  return Error{Code::kInvalidArgument, "bad_url",
               "\"" + std::string(text) + "\": " + std::string(why) +
                   "; give one such as http://127.0.0.1:8787 or unix:///run/cay.sock", 0};
}

bool is_plain(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

Result<Url> parse_url(std::string_view text) {
  Url url;
  const auto mark = text.find("://");
  if (mark == std::string_view::npos || !is_plain(text)) return bad_url(text, "not a URL");
  for (char c : text.substr(0, mark)) url.scheme.push_back(to_lower(c));
  auto rest = text.substr(mark + 3);
  if (url.scheme == "unix") {
    if (rest.empty() || rest.front() != '/') return bad_url(text, "the socket's path must be absolute");
    url.socket_path = rest;
    url.authority = "localhost";
    return url;
  }
  if (url.scheme == "https") return bad_url(text, "https is not spoken yet, only http and unix");
  if (url.scheme != "http") return bad_url(text, "the scheme must be http or unix");
  if (rest.find_first_of("?#@") != std::string_view::npos) return bad_url(text, "no user, query or fragment can be given");
  const auto slash = std::min(rest.find('/'), rest.size());
  auto authority = rest.substr(0, slash);
  url.prefix = rest.substr(slash);
  while (url.prefix.ends_with('/')) url.prefix.pop_back();
  url.authority = authority;
  auto colon = authority.rfind(':');
  if (authority.starts_with('[')) {
    const auto end = authority.find(']');
    if (end == std::string_view::npos) return bad_url(text, "the bracket is not closed");
    url.host = authority.substr(1, end - 1);
    colon = end + 1 < authority.size() ? end + 1 : std::string_view::npos;
    if (colon != std::string_view::npos && authority[colon] != ':') return bad_url(text, "malformed port");
  } else {
    url.host = authority.substr(0, colon);
  }
  if (url.host.empty()) return bad_url(text, "the host is missing");
  if (colon == std::string_view::npos) return url;
  const auto port = authority.substr(colon + 1);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  if (error != std::errc() || end != port.data() + port.size() || url.port == 0) return bad_url(text, "malformed port");
  return url;
}

}  // namespace cay::http
