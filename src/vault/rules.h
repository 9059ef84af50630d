// What a rule does to a request: which rule is meant, and the headers that go out instead of those
// that came. No sockets here.
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
struct Asked {
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
  http::Headers headers;  // Host among them; without what only concerns a connection, or asks for a
                          // part of the answer
};

// Of a request's line and headers, with what was put in: as much as one that comes may have.
inline constexpr std::size_t kMostRewritten = 64 * 1024;

// kPermissionDenied: no_such_rule, token_unknown, host_mismatch, secret_gone, secret_withdrawn,
// secret_unusable, and RequestFilter's; kInvalidArgument: bad_request, also of one that would be
// longer than kMostRewritten: it is not written.
Result<Rewritten> rewrite(const wire::VaultGrant& grant, const Asked& asked, const Unseal& unseal);

// What a request of way base_url is for, whether it is let through or not.
struct Meant {
  std::string
      rule;  // its name; where there is none of that name, what was asked for, made harmless
  std::optional<ProxyHost> to;  // where that rule sends to
};
Meant meant_by(const wire::VaultGrant& grant, std::string_view target);

// It has no secret: of its hosts it says what is let through, and adds nothing.
bool is_fence(const wire::VaultRule& rule);

// Every secret of the grant's that this host may know: at whatever port, by whichever rule, and
// whether the request at hand has it or not. It may have heard it in another.
Result<std::vector<Wiped>> secrets_of_host(const wire::VaultGrant& grant, std::string_view host,
                                           const Unseal& unseal);

// Its rules stay, and what they are for is refused: it does not go past the broker while a secret
// is changed.
bool is_withdrawn(const wire::VaultSecret& secret);
// What seals a secret beside its value: nothing else can be made of it.
std::string about_secret(const wire::VaultSecret& secret);

// Whether the rules of `grant` end TLS for this name.
bool intercepts(const wire::VaultGrant& grant, std::string_view host, std::uint16_t port);
// As the gate is told.
wire::BrokerRoutes routes_of(const wire::VaultGrant& grant);

}  // namespace cay::vault
