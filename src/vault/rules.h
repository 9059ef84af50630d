// Rules: applies a grant's rules to a request. They resolve which rule the request is for, and make
// the headers that are sent to the server. This file uses no sockets.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"
#include "model/proxy.h"
#include "model/sealed_box.h"
#include "wire/vault.h"

namespace cay::vault {

// Opens the secret of a rule.
using Unseal = std::function<Result<Wiped>(const wire::VaultSecret& secret)>;

// A request as it came from a sandbox.
struct ClientRequest {
  std::string host;  // way base_url: empty
  std::uint16_t port = 443;
  std::string method = "GET";
  std::string target;
  http::Headers headers;
};

// As it goes on.
struct Rewritten {
  ProxyHost to;
  std::string target;
  http::Headers headers;  // Host among them, without hop-by-hop fields and without requests for a
                          // part of the response
};

// The limit of a rewritten request's line and headers. It is the limit of a received one.
inline constexpr std::size_t kMostRewritten = 64 * 1024;

// kPermissionDenied: no_such_rule, token_unknown, host_mismatch, secret_gone, secret_withdrawn,
// secret_unusable, and RequestFilter's; kInvalidArgument: bad_request, also of one that would be
// longer than kMostRewritten: it is not written.
Result<Rewritten> rewrite(const wire::VaultGrant& grant, const ClientRequest& asked,
                          const Unseal& unseal);

// The rule that a request of way base_url resolves to, whether or not it is allowed.
struct ResolvedRule {
  std::string rule;  // its name, or if there is no such rule, the requested name made harmless
  std::optional<ProxyHost> to;  // the rule's server
};
ResolvedRule resolve_rule(const wire::VaultGrant& grant, std::string_view target);

// Returns true for a rule without a secret. It limits requests to its hosts and adds nothing.
bool is_fence(const wire::VaultRule& rule);

// Returns every secret of the grant that may be sent to this host, at any port and by any rule. It
// does not matter whether this request has it: another request may have sent it.
Result<std::vector<Wiped>> secrets_of_host(const wire::VaultGrant& grant, std::string_view host,
                                           const Unseal& unseal);

// Its rules stay, and what they are for is refused: it does not go past the broker while a secret
// is changed.
bool is_withdrawn(const wire::VaultSecret& secret);
// Returns the data that is sealed together with a secret's value. It binds the value to its use.
std::string about_secret(const wire::VaultSecret& secret);

// Whether the rules of `grant` end TLS for this name.
bool intercepts(const wire::VaultGrant& grant, std::string_view host, std::uint16_t port);
// Returns the grant's routes as the gate receives them.
wire::BrokerRoutes routes_of(const wire::VaultGrant& grant);

}  // namespace cay::vault
