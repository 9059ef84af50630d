// Urls: where a Client connects to.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cay::http {

struct Url {
  std::string scheme;       // "http" or "unix"
  std::string host;         // without brackets
  std::uint16_t port = 80;
  std::string socket_path;  // unix
  std::string prefix;       // put before targets; no '/' at its end
  std::string authority;    // for the Host header
};

// kInvalidArgument "bad_url".
Result<Url> parse_url(std::string_view text);

}  // namespace cay::http
