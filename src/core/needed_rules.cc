#include "core/needed_rules.h"

#include <algorithm>

namespace cay::core {
namespace {

std::string at_port(const std::string& host, std::uint16_t port) {
  const bool six = host.find(':') != std::string::npos;
  return (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

// Whether `policy` has it by now.
bool is_let_through(const policy::Policy& policy, const NetworkDecision& line) {
  const auto by_host = IpAddress::parse(line.host);
  if (line.port == 0) return !by_host && policy.may_resolve(line.host).allowed();
  const auto address = IpAddress::parse(line.address);
  const std::string names[] = {line.host};
  policy::Meant meant{.names = names, .shown = line.host, .address = address.value_or(IpAddress()), .port = line.port};
  if (by_host) meant = {.names = {}, .shown = std::nullopt, .address = *by_host, .port = line.port};
  return policy.decide(meant).allowed();
}

}  // namespace

std::string rule_for(const NetworkDecision& line) {
  if (line.allowed) return "";
  const std::string& why = line.reason;
  const bool by_name = why == "not_in_policy" || why == "port_not_in_policy" || why == "denied_by_rule" || why == "policy_changed";
  const bool by_address = why == "not_tls" || why == "not_http" || why == "names_no_host" || why == "said_too_little";
  if (!by_name && !by_address) return "";
  std::string text = line.host;
  if (by_address || line.host.empty()) text = line.address;
  if (text.empty() || (by_address && !IpAddress::parse(text))) return "";
  // A name of one word without a port would be a policy's.
  if (line.port != 0) text = at_port(text, line.port);
  if (line.port == 0 && text.find('.') == std::string::npos) text += ":*";
  const auto rule = policy::parse_rule(text);
  return rule && rule->kind != policy::Rule::Kind::kPolicy ? rule->text() : "";
}

void tell_what_is_needed(NetworkReport& report, const policy::Catalogue& policies) {
  const auto policy = policies.policy_of({report.policy, report.rules});
  for (NetworkDecision& line : report.items) {
    line.needs = rule_for(line);
    if (line.needs.empty() || is_let_through(*policy, line)) continue;
    if (std::ranges::find(report.needed, line.needs) == report.needed.end()) report.needed.push_back(line.needs);
  }
  // A name that is let through at one port by a rule needs no other for being looked up; the web of a name is both its ports.
  const std::vector<std::string> all = report.needed;
  std::erase_if(report.needed, [&](const std::string& text) {
    const auto rule = policy::parse_rule(text);
    if (!rule || !rule->names_a_host()) return false;
    return std::ranges::any_of(all, [&](const std::string& other) {
      const auto wider = policy::parse_rule(other);
      if (!wider || wider->ports || !wider->names_a_host() || !wider->matches_name(rule->word)) return false;
      return rule->ports && rule->ports->first == rule->ports->last && wider->has(rule->ports->first);
    });
  });
}

}  // namespace cay::core
