// Url: an http or https address, as registries give it in redirects and challenges.
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace cay::image {

struct Url {
  bool secure = true;
  std::string host;  // without brackets
  std::string port;
  std::string target;  // path and query, at least "/"

  std::string authority() const;
  std::string origin() const { return (secure ? "https://" : "http://") + authority(); }
};

// nullopt: another scheme, a user in it, a character that no URL has, or no host. The fragment is
// left out.
std::optional<Url> parse_url(std::string_view text);

// Reads a Location as RFC 3986 demands for what registries send: a URL, "//host/path", or an
// absolute path at `from`.
std::optional<Url> resolve(const Url& from, std::string_view location);

}  // namespace cay::image
