// Secrets that users keep with Cay, and the rules by which a sandbox may use them without ever
// seeing them (docs/decisions/0023-the-vault.md). Values are in none of these types.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/ids.h"

namespace cay {

// A kept secret, as everybody may see it.
struct SecretInfo {
  TenantId tenant;
  std::string name;                // 1 to 63 letters, digits, '.', '_', '-'
  std::vector<std::string> hosts;  // where it may be sent: see ProxyHost
  std::uint64_t version = 1;       // one more with each new value
  std::string created_by;          // name of the key that gave this value
  UnixMillis created_at = 0, updated_at = 0;
};
// The stored part of a secret: only the broker can open `sealed`.
struct StoredSecret {
  SecretInfo info;
  std::string sealed;
};
// A sandbox with rules for a secret.
struct SecretUser {
  SandboxId sandbox;
  std::string name;
  std::vector<std::string> rules;  // their names
};

// The destination of a secret: "api.example.com" (port 443), "*.example.com" (every name below),
// "host:8443". Always by TLS.
struct ProxyHost {
  std::string host;  // lower case
  std::uint16_t port = 443;
  bool wildcard() const { return host.starts_with("*."); }
  bool matches(std::string_view name, std::uint16_t at) const;  // `name` in lower case
  bool covers(const ProxyHost& other) const;                    // every name that `other` matches
  std::string text() const;
  bool operator==(const ProxyHost&) const = default;
};
std::optional<ProxyHost> parse_proxy_host(std::string_view text);

// How a sandbox uses a secret.
enum class ProxyWay : std::uint8_t {
  kBaseUrl = 1,  // "base_url": a client is told another base URL and a token that is good in this
                 // sandbox alone
  kHeaders =
      2,  // "headers": requests to the hosts get the headers, whatever the client sent in them
  kPlaceholder = 3,  // "placeholder": a stand-in for the value becomes the value, in the named
                     // headers and in Basic
};
std::string_view to_string(ProxyWay way);
std::optional<ProxyWay> proxy_way_from(std::string_view text);

struct ProxyHeader {
  std::string name;
  std::string value;  // with ${SECRET}; or, with `basic_user`, empty
  std::string
      basic_user;  // not empty: the value is Basic, of this user with the secret as password
  bool operator==(const ProxyHeader&) const = default;
};

struct ProxyRule {
  std::string name;    // as a secret's; one of its sandbox
  std::string secret;  // its name; empty: a fence alone, which adds nothing to a request
  ProxyWay way = ProxyWay::kHeaders;
  std::vector<std::string> hosts;    // within the secret's own; empty: those
  std::vector<std::string> methods;  // "GET" (and HEAD with it), "POST"; empty: all
  std::vector<std::string> paths;    // patterns (model/path_pattern.h); empty: all
  std::vector<ProxyHeader>
      headers;  // empty: Authorization: Bearer ${SECRET} (placeholder: see placeholder_headers())
  std::map<std::string, std::string>
      env;            // given to commands; ${TOKEN}, ${BASE_URL}; empty: see proxy_env()
  std::string token;  // made by Cay: the token of way base_url, the stand-in of way placeholder;
                      // worth nothing outside
  bool gone = false;  // its secret was removed: what would go by it is refused, until there is one
                      // of that name again
  std::vector<std::string> gone_hosts;  // that one's
  bool is_fence() const { return secret.empty(); }
  bool operator==(const ProxyRule&) const = default;
};

inline constexpr std::size_t kMostProxyRules = 32;
inline constexpr std::size_t kMostSecretHosts = 64;
inline constexpr std::size_t kLeastSecretBytes = 8;  // shorter ones occur in a response by chance
inline constexpr std::size_t kMostSecretBytes = 16 * 1024;
inline constexpr const char* kSecretWord = "${SECRET}";

// The address inside at which way base_url is served. It is nobody's, from the same block as the
// sandbox's own.
inline constexpr const char* kBrokerV4 = "192.0.0.3";

// Returns the list without repeats. The first of equal entries stays.
std::vector<std::string> each_once(std::vector<std::string> list);
bool is_secret_name(std::string_view name);
// Returns whether it is an HTTP method. Letter case counts (RFC 9110, 9.1), and servers' methods
// are in upper case.
bool is_proxy_method(std::string_view text);
// Returns whether a header, compared as servers read names, concerns the connection alone or is the
// broker's. A guest's value of one is not passed on, and no rule sets it. Responses must come as
// they are and whole, or the broker could not look for a secret in them. (A server may ignore
// Range: RFC 9110, 14.2; Request-Range is its older name.)
bool is_brokers_header(std::string_view name);
// Whether it can be a part of a header: visible ASCII, and blanks within. kInvalidArgument
// (invalid_secret).
Result<void> check_secret_value(std::string_view value);
// Everything but that its secret exists. kInvalidArgument (invalid_proxy_rule).
Result<void> check_proxy_rules(const std::vector<ProxyRule>& rules);
// Returns the variables for commands by which clients find their way: of all rules, and of the
// sandbox's own authority if one is trusted.
std::map<std::string, std::string> proxy_env(const std::vector<ProxyRule>& rules);
// Whether TLS is ended for it: ways headers and placeholder.
bool ends_tls(const std::vector<ProxyRule>& rules);

}  // namespace cay
