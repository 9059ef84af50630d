#include "gate/policy.h"

#include <algorithm>
#include <charconv>

#include "gate/package_hosts.h"
#include "os/route.h"

namespace cay::gate {
namespace {

constexpr std::uint16_t kHttpPort = 80;
constexpr std::uint16_t kHttpsPort = 443;
constexpr std::size_t kMostName = 253;

bool is_name(std::string_view host) {
  if (host.starts_with("*.")) host.remove_prefix(2);
  if (host.empty() || host.size() > kMostName || host.front() == '.' || host.back() == '.') return false;
  return std::ranges::all_of(host, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
}

bool matches(std::string_view rule, std::string_view host) {
  if (!rule.starts_with("*.")) return rule == host;
  rule.remove_prefix(1);
  return host.size() > rule.size() && host.ends_with(rule);
}

Error bad(std::string_view text) {
  return Error{Code::kInvalidArgument, "bad_config",
               "'" + std::string(text.substr(0, 100)) + "' is no host: write example.com, *.example.com, example.com:8443 or https://example.com", 0};
}

}  // namespace

Result<std::vector<Rule>> parse_rules(std::string_view text) {
  std::string_view rest = text;
  std::optional<Proof> proof;
  if (rest.starts_with("https://")) proof = Proof::kTls;
  if (rest.starts_with("http://")) proof = Proof::kHttp;
  if (proof) {
    rest.remove_prefix(*proof == Proof::kTls ? 8 : 7);
    rest = rest.substr(0, rest.find_first_of("/?#"));
  }
  std::string host;
  if (rest.starts_with('[')) {
    const std::size_t end = rest.find(']');
    if (end == std::string_view::npos) return bad(text);
    host = rest.substr(1, end - 1);
    rest.remove_prefix(end + 1);
  } else {
    host = rest.substr(0, rest.find(':'));
    rest.remove_prefix(host.size());
  }
  std::ranges::transform(host, host.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  const auto address = IpAddress::parse(host);
  if (address) host = address->text();
  if (!address && !is_name(host)) return bad(text);
  std::uint16_t port = 0;
  if (!rest.empty()) {
    const std::string_view digits = rest.substr(1);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (rest.front() != ':' || error != std::errc() || end != digits.data() + digits.size() || port == 0) return bad(text);
  }
  const auto usual = [&](std::uint16_t at) {
    if (address) return Proof::kNone;  // nothing stands behind an address but itself
    return at == kHttpsPort ? Proof::kTls : at == kHttpPort ? Proof::kHttp : Proof::kNone;
  };
  if (proof) {
    const std::uint16_t at = port != 0 ? port : *proof == Proof::kTls ? kHttpsPort : kHttpPort;
    return std::vector<Rule>{{host, at, address ? Proof::kNone : *proof}};
  }
  if (port != 0) return std::vector<Rule>{{host, port, usual(port)}};
  return std::vector<Rule>{{host, kHttpsPort, usual(kHttpsPort)}, {host, kHttpPort, usual(kHttpPort)}};
}

Policy::Policy(std::string_view name, std::shared_ptr<const std::vector<Rule>> packages) {
  everything_ = name == "open";
  if (name == "packages") rules_ = std::move(packages);
}

bool Policy::may_resolve(std::string_view host) const {
  if (everything_) return true;
  return rules_ && std::ranges::any_of(*rules_, [&](const Rule& rule) { return matches(rule.host, host); });
}

std::optional<Proof> Policy::reach(std::string_view host, std::uint16_t port) const {
  if (everything_) return Proof::kNone;
  std::optional<Proof> found;
  if (!rules_) return found;
  for (const Rule& rule : *rules_) {
    if (rule.port != port || !matches(rule.host, host)) continue;
    if (!found || rule.proof < *found) found = rule.proof;
  }
  return found;
}

std::optional<Proof> Policy::proof_at(std::uint16_t port) const {
  if (everything_) return Proof::kNone;
  std::optional<Proof> found;
  if (!rules_) return found;
  for (const Rule& rule : *rules_) {
    if (rule.port == port && (!found || rule.proof > *found)) found = rule.proof;
  }
  return found;
}

std::vector<Rule> package_rules() {
  std::vector<Rule> out;
  for (const char* host : kPackageHosts) out.push_back({host, kHttpsPort, Proof::kTls});
  for (const char* host : kPackageHostsByHttp) {
    out.push_back({host, kHttpPort, Proof::kHttp});
    out.push_back({host, kHttpsPort, Proof::kTls});
  }
  return out;
}

bool Reachable::listed(const IpAddress& address) const {
  const bool alone = is_metadata(address);
  return std::ranges::any_of(networks_, [&](const Network& network) { return network.contains(address) && (!alone || network.is_one_address()); });
}

Reachable::May Reachable::look_at(const IpAddress& address) const {
  if (listed(address)) return May::kDial;
  if (is_closed(address)) return May::kNot;
  const auto kind = os::route_kind(address);
  if (!kind) return May::kUnknown;
  // No route: the dial itself will say so.
  return *kind == os::RouteKind::kUnicast || *kind == os::RouteKind::kNone ? May::kDial : May::kNot;
}

}  // namespace cay::gate
