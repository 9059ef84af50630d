#include "core/policies.h"

#include <algorithm>
#include <optional>
#include <span>

#include "base/ascii.h"
#include "core/policy_advice.h"
#include "core/validate.h"

namespace cay::core {
namespace {

using policy::NamedPolicy;

const char* word_for(NamedPolicy::Origin origin) {
  switch (origin) {
    case NamedPolicy::Origin::kPreset: return "preset";
    case NamedPolicy::Origin::kChanged: return "changed";
    case NamedPolicy::Origin::kOperator: return "operator";
  }
  return "preset";
}

// A name as DNS has it: without the last dot, in lower case; an address without the brackets of a
// URL.
std::string host_of(std::string text) {
  if (text.starts_with('[') && text.ends_with(']')) return text.substr(1, text.size() - 2);
  if (text.ends_with('.')) text.pop_back();
  return lowered(text);
}

struct Said {
  bool allowed = false;
  std::string reason, rule;
};

Said by_rule(const policy::Verdict& verdict) {
  if (verdict.allowed()) return {true, {}, verdict.rule};
  return {false, verdict.rule.empty() ? "not_in_policy" : "denied_by_rule", verdict.rule};
}

Said ask(const policy::Policy& policy, const std::string& host, std::uint16_t port,
         const Around& around) {
  if (const auto address = IpAddress::parse(host)) {
    if (!around.reaches(*address)) return {false, "private_address", {}};
    const auto verdict = policy::verdict_of_address(
        *address, port, [&](const policy::ConnectionFacts& facts) { return policy.decide(facts); });
    // The gate decides by the first bytes of the connection, and an address alone has none.
    if (verdict.says != policy::Verdict::Says::kShow) return by_rule(verdict);
    return {false, "names_no_host", {}};
  }
  if (const auto found = policy.may_resolve(host); port == 0 || !found.allowed())
    return by_rule(found);
  const std::string names[] = {host};
  Said said = by_rule(
      policy.decide({.names = names, .shown = host, .address = std::nullopt, .port = port}));
  if (said.reason == "not_in_policy") said.reason = "port_not_in_policy";
  return said;
}

// Lists networks whose rules would decide otherwise, if the name resolved to one of them. The dry
// run does not resolve names.
std::string otherwise_by_address(const policy::Policy& policy, const std::string& host,
                                 std::uint16_t port, bool allowed) {
  constexpr std::size_t kMostAsked = 50, kMostTold = 3;
  const std::string names[] = {host};
  std::string out;
  std::size_t told = 0;
  for (const Network& network : policy.networks(kMostAsked)) {
    if (policy.decide({.names = names, .shown = host, .address = network.address, .port = port})
            .allowed() == allowed)
      continue;
    if (++told <= kMostTold) out += (out.empty() ? "" : ", ") + network.text();
  }
  if (told > kMostTold) out += " and others";
  if (out.empty()) return out;
  return (allowed ? "refused where it leads to an address in "
                  : "let through where it leads to an address in ") +
         out;
}

// A fence is about what is connected to: the name is the policy's.
ByProxy by_lookup(std::span<const ProxiedHost> proxied, const std::string& host) {
  ByProxy out;
  out.opens = std::ranges::any_of(proxied, [&](const ProxiedHost& one) {
    return one.kind == ProxiedHost::Kind::kSecret && one.host.matches(host, one.host.port);
  });
  return out;
}

// `has`: the sandbox's policy; else the question's own.
Result<PolicyTrial> tried(const PolicyQuestion& question, const std::optional<policy::Choice>& has,
                          const Around& around) {
  policy::Choice choice;
  if (has) {
    choice = *has;
  } else {
    CAY_TRY(choice, around.policies.choose(question.policy));
  }
  const std::string host = host_of(question.host);
  PolicyTrial out{.policy = choice.policy,
                  .rules = choice.rules,
                  .allowed = false,
                  .reason = {},
                  .rule = {},
                  .needs = {},
                  .in_the_way = {},
                  .advice = {}};
  const auto rule = policy::parse_rule(host, policy::Words::kHosts);
  const bool one_name = rule && rule->kind == policy::Rule::Kind::kName && rule->word == host;
  if (!one_name && !IpAddress::parse(host)) {
    return Error{Code::kInvalidArgument, "invalid_policy",
                 "'" + question.host.substr(0, 100) + "' is neither a host name nor an address", 0};
  }
  if (!one_name && question.port == 0)
    return Error{Code::kInvalidArgument, "invalid_field",
                 "port 0 is a name that is looked up, and '" + host + "' is an address", 0};
  if (!around.policies.check_allowed(choice)) {
    out.reason = "policy_not_allowed";
  } else {
    const auto policy = around.policies.policy_of(choice);
    Said said = ask(*policy, host, question.port, around);
    const ByProxy by = question.port == 0
                           ? by_lookup(around.proxied, host)
                           : by_proxy(around.proxied, host, question.port, question.path);
    const bool is_off =
        choice.policy == "off" || (choice.policy == policy::kOwnRules && choice.rules.empty());
    if (by.opens && !is_off) said = {true, {}, {}};
    if (said.allowed && !by.rules.empty()) {
      said.allowed = by.reason.empty();
      said.reason = by.reason;
      out.proxy_rule = by.rules;
      out.note = by.note;
    }
    if (one_name && question.port != 0 && !by.opens &&
        (said.allowed || said.reason == "port_not_in_policy")) {
      const std::string by_address =
          otherwise_by_address(*policy, host, question.port, said.allowed);
      if (!by_address.empty()) out.note += (out.note.empty() ? "" : "; ") + by_address;
    }
    out.allowed = said.allowed;
    out.reason = std::move(said.reason);
    out.rule = std::move(said.rule);
  }
  NetworkDecision line;
  line.host = host;
  line.address = IpAddress::parse(host) ? host : "";
  line.port = question.port;
  line.allowed = out.allowed;
  line.reason = out.reason;
  line.rule = out.rule;
  advise(line, choice, around);
  out.needs = line.needs;
  out.preset = line.preset;
  out.in_the_way = line.in_the_way;
  out.advice = line.advice;
  return out;
}

}  // namespace

Task<PolicyList> PolicyVerbs::list(Principal) {
  PolicyList out;
  out.usual = defaults_.policy;
  for (const NamedPolicy& one : defaults_.policies->all()) {
    const policy::RuleSet& rules = one.policy->rules();
    PolicyInfo info{.name = one.name,
                    .about = one.about,
                    .origin = word_for(one.origin),
                    .rules = {},
                    .otherwise = {},
                    .order = {}};
    for (const policy::Rule& rule : rules.rules) info.rules.push_back(rule.text());
    info.otherwise = policy::word_for_default(rules);
    info.order = policy::word_for(rules.order);
    info.allowed = defaults_.policies->check_allowed({one.name, {}}).has_value();
    out.items.push_back(std::move(info));
  }
  co_return out;
}

Task<PolicyTrial> PolicyVerbs::try_policy(Principal who, PolicyQuestion question) {
  std::optional<policy::Choice> choice;
  std::vector<ProxiedHost> proxied;
  bool waits = false;
  if (!question.sandbox.empty()) {
    CAY_CO_TRY(const auto entry, registry_->find(who, question.sandbox));
    choice = {entry->row.policy, entry->row.rules};
    proxied = proxies_.hosts_of(entry->row);
    waits = entry->live != nullptr && entry->row.network.state != NetworkState::kOn;
  }
  auto work = [question = std::move(question), choice = std::move(choice),
               proxied = std::move(proxied), policies = defaults_.policies,
               networks = defaults_.networks, is_own = defaults_.is_own_address] {
    return tried(question, choice, {*policies, networks, proxied, is_own});
  };
  auto trial = co_await rule_work_.run(who.tenant, std::move(work));
  if (trial && waits && trial->allowed) {
    constexpr const char* kWaits =
        "from its next start: it was started without a way out, and reaches nothing until then";
    trial->note = trial->note.empty() ? kWaits : trial->note + "; " + kWaits;
  }
  co_return trial;
}

}  // namespace cay::core
