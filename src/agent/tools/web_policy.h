// WebPolicy: the hosts that web_fetch and web_search may reach. They run outside the sandbox, so
// its own policy does not bind them. By default they reach nothing, and are not offered.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace cay::agent {

struct WebPolicy {
  // Hosts that web_fetch may reach: "docs.python.org", "*.example.com", or "*" for any. A name
  // with a private or other special address is never reached, whatever is listed.
  std::vector<std::string> hosts{};
  // A search service: an http(s) URL with "{query}" in it, whose answer is JSON or HTML. Empty: no
  // web_search. It may be on this host or a private network, where the URL has its address or
  // "localhost". A name never leads there.
  std::string search_url{};
  std::string search_key{};  // sent as Authorization: Bearer
  std::size_t max_bytes = 4u << 20;
  Millis timeout{30'000};
  std::string ca_file{};           // for https; empty: the system's authorities
  bool special_addresses = false;  // reaches loopback and private networks
};

// Fails kInvalidArgument (bad_search_url) for a URL that is not http or https, or has no "{query}"
// behind its host. An empty one is right.
Result<void> check_search_url(const std::string& url);

}  // namespace cay::agent
