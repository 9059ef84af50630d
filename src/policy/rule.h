// Rule: one line of a policy, and its text.
//
//   example.com                  the web of it: 443 by TLS, 80 by HTTP
//   *.example.com                every name below, the same
//   ~(api|www)[0-9]*\.example\.com   a regular expression (RE2) for the whole name
//   192.0.2.7  192.0.2.0/24  2001:db8::/32   an address or a network, at every port
//   @pip                         what the policy `pip` lets through
//   https://example.com:8443     at that port, by TLS; http:// likewise; never with a path, which
//   is a proxy rule's to name
//
// With ":443", ":8000-8100" or ":*" behind it: at those ports (an IPv6 address stands in brackets
// then). With "!" before it: refused. A refused host without ports is refused at every port.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "base/result.h"

namespace re2 {
class RE2;
}

namespace cay::policy {

// The proof that a connection's first bytes must give before it is let through: one address serves
// many names.
enum class Proof : std::uint8_t {
  kNone = 0,
  kHttp,  // a request whose Host is the name
  kTls,   // a ClientHello whose server name is the name
};

enum class Action : std::uint8_t { kAllow, kDeny };

struct Ports {
  std::uint16_t first = 1, last = 65'535;
  bool operator==(const Ports&) const = default;
};
inline constexpr Ports kEveryPort{};
inline constexpr std::uint16_t kHttpPort = 80;
inline constexpr std::uint16_t kHttpsPort = 443;

// Returns the proof at a port for which no rule has one.
Proof usual_proof(std::uint16_t port);

// Whether it is an address to inet_aton(3), in one of its odder notations perhaps, and so no name.
// Lower case.
bool looks_like_an_address(std::string_view name);

struct Rule {
  enum class Kind : std::uint8_t { kName, kBelow, kRegex, kNetwork, kPolicy };
  Action action = Action::kAllow;
  Kind kind = Kind::kName;
  std::string
      word;  // kName, kBelow: lower case, without "*."; kRegex: without "~"; kPolicy: without "@"
  Network network{};                        // kNetwork
  std::optional<Proof> scheme;              // as written; of names alone
  std::optional<Ports> ports;               // as written
  std::shared_ptr<const re2::RE2> regex{};  // kRegex

  bool names_a_host() const {
    return kind == Kind::kName || kind == Kind::kBelow || kind == Kind::kRegex;
  }
  bool has(std::uint16_t port) const;
  bool has_every_port() const;
  std::size_t program() const;  // kRegex: how many instructions it was compiled to
  // For a kind that names a host: `name` is lower case.
  bool matches_name(std::string_view name) const;
  // Returns the proof that a name needs at `port` for this rule to match it.
  Proof proof_at(std::uint16_t port) const;
  // Ports with one proof each; together all that it has.
  struct Segment {
    Ports ports;
    Proof proof;
  };
  std::vector<Segment> segments() const;
  std::string text() const;  // parse() of it is this rule
};

inline constexpr std::size_t kLongestName = 253;
inline constexpr std::size_t kLongestRegex = 256;
// Instructions of one expression, and of all that are matched against one name: those of a policy
// and of the policies that it names. A match against a name of 253 bytes costs as much as
// instructions times bytes, and sandboxes cause matches.
inline constexpr std::size_t kMostProgram = 400;
inline constexpr std::size_t kMostPrograms = 2'000;
inline constexpr std::string_view kSmaller =
    "write + for a count (a part of a name has 63 bytes at most anyway), or a *. rule";
inline constexpr std::size_t kLongestPolicyName = 40;

// [a-z][a-z0-9-]*, 40 at most: what a policy may be called.
bool is_policy_name(std::string_view text);

// Returns how much of `text`, which begins behind a ~, is the expression, where commas separate
// rules. It ends at the first comma that stands in no {}, [] or () and behind no backslash. No host
// name has a comma.
std::size_t expression_end(std::string_view text);

// How a word that is neither an address nor has a dot or a port is meant.
enum class Words { kPolicies, kHosts };

// Fails kInvalidArgument (invalid_policy), with the rule and what to write.
Result<Rule> parse_rule(std::string_view text, Words words = Words::kPolicies);

}  // namespace cay::policy
