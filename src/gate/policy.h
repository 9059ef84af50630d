// Policy: which names and ports a sandbox may reach. `packages` is a list of hosts; `open` is everything; neither includes
// special ranges (base/ip_address.h), which are decided by address, after resolution.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "base/result.h"

namespace cay::gate {

// What the first bytes of a connection must show before it is let through: one address serves many names.
enum class Proof : std::uint8_t {
  kNone = 0,
  kHttp,  // a request whose Host is the name
  kTls,   // a ClientHello whose server name is the name
};

// A host, and how it may be reached. `host` is lower case: exact, or "*.example.com" for every name below.
struct Rule {
  std::string host;
  std::uint16_t port = 0;
  Proof proof = Proof::kNone;
};

// "example.com" (443 by TLS, 80 by HTTP), "example.com:8443", "https://example.com:8443/any/path", "http://example.com",
// "*.example.com", "192.0.2.7:5432". A port that is neither 80 nor 443 and has no scheme is shown no proof.
// kInvalidArgument: bad_config.
Result<std::vector<Rule>> parse_rules(std::string_view text);

class Policy {
 public:
  // `name` as the sandbox's owner chose it; an unknown one reaches nothing.
  Policy(std::string_view name, std::shared_ptr<const std::vector<Rule>> packages);

  bool reaches_everything() const { return everything_; }
  bool may_resolve(std::string_view host) const;
  // How `host` (a name, or an address as text) may be reached at `port`; nothing: it may not.
  std::optional<Proof> reach(std::string_view host, std::uint16_t port) const;
  // The strictest proof of any rule for that port; nothing: no rule has it.
  std::optional<Proof> proof_at(std::uint16_t port) const;

 private:
  bool everything_ = false;
  std::shared_ptr<const std::vector<Rule>> rules_;  // null: none
};

// The hosts of `packages`, before the operator's.
std::vector<Rule> package_rules();

// Special ranges are reached only where one of `networks` holds the address.
class Reachable {
 public:
  explicit Reachable(std::vector<Network> networks) : networks_(std::move(networks)) {}
  // A metadata service counts as listed by its own address alone: who opens a range that it happens to lie in does not
  // mean to give out the host's credentials.
  bool listed(const IpAddress& address) const;
  // By what it is, without asking the kernel: special, and not listed.
  bool is_closed(const IpAddress& address) const { return is_special(address) && !listed(address); }
  enum class May : std::uint8_t {
    kDial,     // not special, and not this host's own; or listed
    kNot,
    kUnknown,  // the kernel could not be asked: not dialled either, and no rule says so
  };
  May look_at(const IpAddress& address) const;

 private:
  std::vector<Network> networks_;
};

}  // namespace cay::gate
