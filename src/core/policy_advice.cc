#include "core/policy_advice.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/one_more.h"

namespace cay::core {
namespace {

using policy::Rule;

std::string at_port(const std::string& host, std::uint16_t port) {
  const bool six = host.find(':') != std::string::npos;
  return (six ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

// The verdict of a policy on a line, by its `decide` and `may_resolve`.
policy::Verdict verdict_of(const NetworkDecision& line, const auto& decide,
                           const auto& may_resolve) {
  const auto by_host = IpAddress::parse(line.host);
  if (line.port == 0) return by_host ? policy::Verdict() : may_resolve(line.host);
  const auto address = IpAddress::parse(line.address);
  const std::string names[] = {line.host};
  const policy::ConnectionFacts facts{
      .names = names, .shown = line.host, .address = address, .port = line.port};
  return by_host ? policy::verdict_of_address(*by_host, line.port, decide) : decide(facts);
}

bool is_let_through(const policy::Policy& policy, const NetworkDecision& line) {
  return verdict_of(
             line, [&](const policy::ConnectionFacts& facts) { return policy.decide(facts); },
             [&](std::string_view name) { return policy.may_resolve(name); })
      .allowed();
}

policy::Verdict verdict_of(const policy::OneMore& policy, const Rule& rule,
                           const NetworkDecision& line) {
  return verdict_of(
      line, [&](const policy::ConnectionFacts& facts) { return policy.decide(facts, rule); },
      [&](std::string_view name) { return policy.may_resolve(name, rule); });
}

struct Stands {
  std::string kind{}, says{};
};

// Returns whether the address is Cay's own: those of sandboxes and of the gate mean nothing outside
// (wire/guest_network.h, model/proxy.h).
bool is_cays_own(const IpAddress& address) {
  return Network::parse("192.0.0.0/29")->contains(address) ||
         Network::parse("fd63:6179:6761:7465::/64")->contains(address);
}

// No setting opens these.
bool is_never_opened(const IpAddress& address) {
  constexpr const char* kNever[] = {"127.0.0.0/8",     "::1",     "0.0.0.0/8", "::", "224.0.0.0/4",
                                    "255.255.255.255", "ff00::/8"};
  return std::ranges::any_of(
      kNever, [&](const char* text) { return Network::parse(text)->contains(address); });
}

Stands of_address(const NetworkDecision& line, const IpAddress& address, const Around& around) {
  const std::string text = address.text();
  const std::string kind(kind_of(address));
  if (is_cays_own(address))
    return {"own_address", text +
                               " is Cay's own inside every sandbox: what is there is reached "
                               "without a rule, and nothing else can be"};
  if (is_never_opened(address))
    return {"never_reached", text + " is " + kind + ", which is reached by no rule and no setting"};
  const std::string add = "add \"" + text + "\" to network.networks in the daemon's settings";
  if (is_metadata(address))
    return {"metadata_address",
            add + ", which gives every sandbox its data about this machine: often its credentials"};
  const bool is_own = kind.empty() || around.is_own_address(address);
  const char* const alone = is_opened(address, around.networks)
                                ? " by itself, for a network opens other machines alone"
                                : "";
  std::string says = text + " is " + (is_own ? "this host's own address" : kind) +
                     ", which the operator alone opens: " + add + alone;
  if (line.reason != "private_address") says += ", and then it takes a rule of the sandbox's, too";
  return {"special_address", std::move(says)};
}

// Returns the text of docs/errors.md for a reason of the broker's, or of the gate for want of a
// broker. Empty: it is none of these.
std::string_view of_broker(std::string_view reason) {
  constexpr std::pair<std::string_view, std::string_view> kSays[] = {
      {"token_unknown",
       "it came without the token of its proxy rule: programs take that from the variable that the "
       "rule sets (cay proxy SANDBOX)"},
      {"no_such_rule", "no proxy rule is for it, or not any more: cay proxy SANDBOX"},
      {"rules_unknown",
       "the broker did not know the sandbox's proxy rules: try again; else DATA/broker.log and "
       "`cay doctor` have the cause"},
      {"rule_changed", "it was open while its proxy rule or secret was changed: open it again"},
      {"bad_request",
       "the request is not as servers read it: mend the client, and send a body by POST"},
      {"path_not_in_rule",
       "its proxy rules have not that path: use another, or give another rule (cay proxy "
       "SANDBOX)"},
      {"method_not_in_rule",
       "its proxy rules have not that method: use another, or give another rule (cay proxy "
       "SANDBOX)"},
      {"ambiguous_path",
       "its path could be read as another: write it plainly, without `//`, `\\` and escaped "
       "slashes, dots and percent signs"},
      {"method_overridden",
       "it names another method or path in disguise: use the method and the path that "
       "are meant"},
      {"secret_gone",
       "the secret of its proxy rule was removed: `cay secret set` it again, or take the rule away "
       "(cay proxy SANDBOX)"},
      {"secret_unusable",
       "the vault cannot open the secret of its proxy rule: give the value again (cay secret set)"},
      {"secret_withdrawn",
       "the secret of its proxy rule was removed, or was being changed: try again; `cay secret ls` "
       "lists them"},
      {"host_mismatch",
       "the request named another host than its connection was for: one host for one connection"},
      {"secret_reflected",
       "the server's answer held the secret: do not trust that server, and set another value (cay "
       "secret set)"},
      {"answer_unreadable",
       "the server packed its answer although the request forbids it, and a secret could be in it: "
       "nothing helps at that server"},
      {"answer_partial",
       "the server answered with a part although the request was for the whole: nothing helps at "
       "that server"},
      {"authority_not_trusted",
       "the client inside does not trust the sandbox's own authority, or spoke no TLS: look at its "
       "settings for certificates; one that pins them needs a proxy rule of way base_url"},
      {"tls_untrusted",
       "the server's certificate is not trusted: the operator names its authority's file in "
       "vault.ca_file, or whose server it is mends it"},
      {"vault_unavailable",
       "the broker, which keeps secrets, did not answer: it is started again by itself; else "
       "DATA/broker.log and `cay doctor` have the cause"},
  };
  for (const auto& [of, says] : kSays) {
    if (of == reason) return says;
  }
  return {};
}

// `rule`: that refuses it now, which need not be the one that did then.
Stands of_denial(const std::string& rule) {
  constexpr const char* kKind = "denied_by_rule";
  // "@packages: !a.test": of a policy that has a name.
  const std::string own = rule.substr(0, rule.find(": "));
  if (own.starts_with('@'))
    return {kKind,
            "a policy of the sandbox's refuses it, whatever is added: cay policy set SANDBOX "
            "RULE…, without " +
                own};
  if (!own.empty())
    return {kKind,
            "a rule of the sandbox's own refuses it, whatever is added: cay policy set SANDBOX "
            "--remove '" +
                own + "'"};
  return {kKind,
          "the sandbox's policy refuses it, whatever is added: `cay policy get SANDBOX` lists its "
          "rules"};
}

// Returns what no rule can change, before one is searched.
Stands before_rules(const NetworkDecision& line, const Around& around) {
  if (const std::string_view says = of_broker(line.reason); !says.empty())
    return {"proxy_rule", std::string(says)};
  for (const ProxiedHost& one : around.proxied) {
    // The policy's rules count beside a fence, for the own name of a base URL's host, and at other
    // ports than the rule's. They do not count for the address that a name resolves to.
    if (one.kind != ProxiedHost::Kind::kSecret ||
        !one.host.matches(line.host, line.port == 0 ? one.host.port : line.port))
      continue;
    return {"proxy_rule", "the proxy rule '" + one.rule + "' reaches it, at " + one.host.text() +
                              ", with its secret: no rule goes beside it (cay proxy SANDBOX)"};
  }
  if (line.reason == "fenced")
    return {"proxy_rule",
            "a fence is for it, and lets nobody past: by TLS that names the host, to its port (cay "
            "proxy SANDBOX)"};
  const bool was_special = line.reason == "private_address";
  auto address = IpAddress::parse(line.address);
  if (!address) address = IpAddress::parse(line.host);
  const bool is_reached = address && around.reaches(*address);
  const bool is_open = is_reached && is_opened(*address, around.networks);
  if (address && !is_open && (is_cays_own(*address) || was_special || !is_reached))
    return of_address(line, *address, around);
  if (was_special && !address)
    return {"special_address",
            "its name led to no public address when it was tried: the operator alone opens others, "
            "in network.networks"};
  if (line.reason == "policy_not_allowed") {
    return {"operator",
            "forbidden by the operator, who does not allow the sandbox's policy: request it in "
            "network.policies, or choose another"};
  }
  if (line.reason == "too_many_connections" || line.reason == "too_many_new_connections")
    return {"limit", "no rule's doing: it takes fewer connections at once"};
  if (line.reason == "bytes_used_up") {
    return {"limit",
            "no rule's doing: the operator gives each sandbox so many bytes "
            "(network.sandbox_sent_bytes, network.sandbox_received_bytes)"};
  }
  return {};
}

Stands stands_in_the_way(const NetworkDecision& line, const policy::OneMore& policy,
                         const Around& around) {
  if (Stands stands = before_rules(line, around); !stands.kind.empty()) return stands;
  if (line.needs.empty())
    return {"no_rule", "no rule can name it: rules name hosts, addresses and ports"};
  const auto rule = policy::parse_rule(line.needs);
  const auto takes = rule ? policy.takes(*rule) : Result<void>(rule.error());
  if (!takes) return {"no_rule", "its policy takes no rule more: " + takes.error().message};
  if (const auto with = verdict_of(policy, *rule, line); !with.allowed())
    return of_denial(with.rule);
  if (policy.is_allowed(*rule)) return {};
  return {"operator", "forbidden by the operator: request \"" + line.needs +
                          "\" in a policy of network.policies"};
}

// By the operator, since.
bool is_opened_by_now(const NetworkDecision& line, const Around& around) {
  const auto address = IpAddress::parse(line.address.empty() ? line.host : line.address);
  return address && is_opened(*address, around.networks) && around.reaches(*address);
}

NetworkDecision with_reason(NetworkDecision line, const char* reason) {
  line.reason = reason;
  return line;
}

// Whether a policy is that preset, or has it among its rules.
bool has_preset(const policy::Catalogue& policies, const policy::RuleSet& rules,
                std::string_view name) {
  return std::ranges::any_of(rules.rules, [&](const Rule& rule) {
    if (rule.kind != Rule::Kind::kPolicy || rule.action != policy::Action::kAllow) return false;
    const policy::NamedPolicy* named = policies.find(rule.word);
    return rule.word == name ||
           (named != nullptr && has_preset(policies, named->policy->rules(), name));
  });
}

bool has_preset(const policy::Catalogue& policies, const policy::Choice& choice,
                std::string_view name) {
  const auto rules = policies.rules_of(choice);
  return choice.policy == name || (rules && has_preset(policies, *rules, name));
}

// How many rules a policy has, with those of the policies that it names.
std::size_t size_of(const policy::Catalogue& policies, const policy::RuleSet& rules) {
  std::size_t out = 0;
  for (const Rule& rule : rules.rules) {
    const policy::NamedPolicy* named =
        rule.kind == Rule::Kind::kPolicy ? policies.find(rule.word) : nullptr;
    out += named != nullptr ? size_of(policies, named->policy->rules()) : 1;
  }
  return out;
}

// Whether the operator allows the choice with that policy added to it.
bool may_add(const policy::Catalogue& policies, const policy::Choice& choice,
             const std::string& name) {
  if (policies.allowed().empty()) return true;
  const std::string had = choice.policy == policy::kOwnRules ? choice.rules
                          : choice.policy == "off"           ? ""
                                                             : "@" + choice.policy;
  const auto with = policies.choose(had + "\n@" + name);
  return with && policies.check_allowed(*with);
}

// The smallest of Cay's policies that lets it through.
std::string preset_for(const NetworkDecision& line, const policy::Choice& choice,
                       const policy::Catalogue& policies) {
  const policy::NamedPolicy* best = nullptr;
  std::size_t least = 0;
  for (const policy::NamedPolicy& one : policies.all()) {
    if (one.origin == policy::NamedPolicy::Origin::kOperator ||
        one.policy->rules().otherwise == policy::Action::kAllow)
      continue;
    if (!is_let_through(*one.policy, line)) continue;
    const std::size_t size = size_of(policies, one.policy->rules());
    if (best != nullptr && size >= least) continue;
    best = &one;
    least = size;
  }
  return best != nullptr && may_add(policies, choice, best->name) ? best->name : "";
}

void advise(NetworkDecision& line, const policy::OneMore& policy, const Around& around) {
  if (line.allowed) return;
  line.needs = rule_for(line.reason == "private_address" && is_opened_by_now(line, around)
                            ? with_reason(line, "not_in_policy")
                            : line);
  Stands stands = stands_in_the_way(line, policy, around);
  if (stands.kind.empty()) return;
  line.needs.clear();
  line.in_the_way = std::move(stands.kind);
  line.advice = std::move(stands.says);
}

}  // namespace

bool Around::is_own_address(const IpAddress& address) const { return is_own && is_own(address); }

bool Around::reaches(const IpAddress& address) const {
  return is_opened_by_itself(address, networks) ||
         ((!is_special(address) || is_opened(address, networks)) && !is_own_address(address));
}

std::string rule_for(const NetworkDecision& line) {
  if (line.allowed) return "";
  const std::string& why = line.reason;
  const bool by_name = why == "not_in_policy" || why == "port_not_in_policy" ||
                       why == "denied_by_rule" || why == "policy_changed" ||
                       why == "answer_denied" || why == "not_answered" ||
                       why == "too_many_questions" || why == "client_left";
  const bool by_address =
      why == "not_tls" || why == "not_http" || why == "names_no_host" || why == "said_too_little";
  if (!by_name && !by_address) return "";
  const std::string meant = by_address || line.host.empty() ? line.address : line.host;
  if (meant.empty() || (by_address && !IpAddress::parse(meant))) return "";
  std::string text = meant;
  // A name of one word without a port would be a policy's.
  if (line.port != 0) text = at_port(meant, line.port);
  if (line.port == 0 && meant.find('.') == std::string::npos) text += ":*";
  const auto rule = policy::parse_rule(text);
  if (!rule || rule->action != policy::Action::kAllow) return "";
  // The name that a program sends must not become a rule for other hosts.
  const bool one_name = rule->kind == Rule::Kind::kName && rule->word == meant;
  const bool one_address = rule->kind == Rule::Kind::kNetwork && rule->network.is_one_address();
  return one_name || one_address ? rule->text() : "";
}

void advise(NetworkDecision& line, const policy::Choice& choice, const Around& around) {
  advise(line, policy::OneMore(around.policies, choice), around);
  if (!line.needs.empty()) line.preset = preset_for(line, choice, around.policies);
}

void advise_report(NetworkReport& report, const Around& around) {
  const policy::Choice choice{report.policy, report.rules};
  const auto policy = around.policies.policy_of(choice);
  const policy::OneMore with(around.policies, choice);
  report.takes_hosts = has_preset(around.policies, choice, "packages");
  // A refused lookup shows no address. A connection to that name may.
  std::set<std::string> special;
  for (NetworkDecision& line : report.items) {
    advise(line, with, around);
    if (line.in_the_way.ends_with("_address") && !IpAddress::parse(line.host))
      special.insert(line.host);
  }
  std::vector<std::pair<std::string, Rule>> all;
  for (NetworkDecision& line : report.items) {
    if (line.needs.empty()) continue;
    if (special.contains(line.host)) {
      line.needs.clear();
      line.in_the_way = "special_address";
      line.advice =
          "its name leads to an address that the operator alone opens, in network.networks";
      continue;
    }
    if (is_let_through(*policy, line)) {
      line.needs.clear();
      line.advice = "by now its policy lets it through";
      continue;
    }
    line.preset = preset_for(line, choice, around.policies);
    if (std::ranges::find(all, line.needs, &std::pair<std::string, Rule>::first) != all.end())
      continue;
    if (auto rule = policy::parse_rule(line.needs)) all.emplace_back(line.needs, *std::move(rule));
  }
  // A name that a rule allows at one port can be looked up without another rule. The web of a name
  // is both its ports.
  for (const auto& [text, rule] : all) {
    const bool has_wider = rule.names_a_host() && rule.ports &&
                           rule.ports->first == rule.ports->last &&
                           std::ranges::any_of(all, [&](const auto& other) {
                             const Rule& wider = other.second;
                             return !wider.ports && wider.names_a_host() &&
                                    wider.matches_name(rule.word) && wider.has(rule.ports->first);
                           });
    if (!has_wider) report.needed.push_back(text);
  }
}

}  // namespace cay::core
