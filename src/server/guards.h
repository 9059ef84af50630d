// Guards: checks of a request that need no key. They stop web pages on the operator's machine.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "http/facade.h"
#include "http/message.h"

namespace cay::server {

struct HostPolicy {
  // Listening on loopback: only names that mean this machine are taken, so that a page whose name
  // was rebound to 127.0.0.1 is refused (DNS rebinding).
  bool loopback_only = true;
  std::vector<std::string>
      names;  // of --public-url and --service-domain; the latter with a leading '.'
};

// kPermissionDenied (wrong_host): answer it with 421.
std::optional<Error> check_host(const http::RequestHead& head, const HostPolicy& policy);

// Refuses a request with an Origin of another host and no key of its own: it could only live on
// ambient rights. Programs that send an Origin and a key (Go's WebSocket client) pass.
// kPermissionDenied (cross_origin): answer it with 403.
std::optional<Error> check_origin(const http::RequestHead& head, const http::KeyRule& rule);

// Returns the network that a stranger is counted by, from the peer of a request's head. It is an
// IPv4 address, or the /64 of an IPv6 one, which is the least that anybody has.
std::string network_of_peer(std::string_view peer);

// `listen` is ADDRESS:PORT. Off loopback, plain HTTP needs an explicit yes (`clear_or_tls`).
// kInvalidArgument (bad_listen, needs_tls).
std::optional<Error> check_listen(const std::string& listen, bool clear_or_tls);
bool is_loopback_host(std::string_view host);  // without port
// "[::1]:80" -> "::1", "localhost:80" -> "localhost", "::1" stays. A name's absolute form,
// "box.test.", is the same name.
std::string host_without_port(std::string_view host);

}  // namespace cay::server
