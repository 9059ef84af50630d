// The policy that a door goes by: as it was lent, or as the daemon wrote since; and what becomes of open connections when it changes.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "gate/door.h"
#include "gate/handover.h"
#include "os/file.h"
#include "wire/messages.h"
#include "wire/routes_file.h"

namespace cay::gate {
namespace {

// What could not be read: where it was read "rules" has rules.
bool is_unreadable(const policy::Choice& choice) { return choice.policy == policy::kOwnRules && choice.rules.empty(); }
bool is_off(const policy::Choice& choice) { return choice.policy == "off" || is_unreadable(choice); }

}  // namespace

bool Door::take_routes() {
  if (house_.handover == nullptr) return true;
  const auto text = os::read_file(house_.rules, id_ + wire::kRoutesSuffix, wire::kMostVaultFrame);
  wire::BrokerRoutes none;
  none.sandbox_id = id_;
  if (!text && text.error().os_errno == ENOENT) {
    house_.handover->written(none);
    return true;
  }
  const auto written = text ? wire::decode<wire::WrittenRoutes>(*text) : std::nullopt;
  if (!written || !written->whole || written->routes.sandbox_id != id_) return false;
  house_.handover->written(written->routes);
  return true;
}

policy::Choice Door::chosen() {
  if (house_.rules < 0) return {lent_, {}};
  if (!take_routes()) return {std::string(policy::kOwnRules), {}};  // nothing is let through that may be fenced off
  const auto text = os::read_file(house_.rules, id_, wire::kMostSandboxPolicy);
  if (!text && text.error().os_errno == ENOENT) return {lent_, {}};
  auto written = text ? wire::decode<wire::SandboxPolicy>(*text) : std::nullopt;
  // What cannot be read may be narrower than what was lent: nothing is let through.
  if (!written) return {std::string(policy::kOwnRules), {}};
  return {std::move(written->policy), std::move(written->rules)};
}

Door::Standing Door::standing_of(policy::Choice choice) const {
  Standing out;
  out.rules = house_.policies->policy_of(choice);
  // Rules that let nothing through go beyond nothing.
  out.allowed = house_.policies->check_allowed(choice).has_value();
  out.opens_rules = out.allowed && !is_off(choice);
  if (is_unreadable(choice)) {
    out.allowed = out.opens_rules = false;
    out.not_allowed = "policy_unreadable";
  }
  out.choice = std::move(choice);
  return out;
}

policy::Verdict Door::ask(const Facts& facts) const {
  if (!standing_.allowed) return {};
  const auto decide = [&](const std::optional<std::string>& shown) {
    return standing_.rules->decide({.names = facts.names, .shown = shown, .address = facts.to.address, .port = facts.to.port});
  };
  auto out = decide(facts.shown);
  // Where a name must be shown, an address in its place is none: it would stand for any that is there, a refused one too. A rule of its own lets it through.
  const bool is_no_name = out.allowed() && !out.by_address && facts.shown && policy::looks_like_an_address(*facts.shown);
  if (is_no_name && decide({}).says == policy::Verdict::Says::kShow) return {};
  return out;
}

bool Door::goes_by_names(const Endpoint& to) const {
  return standing_.rules->decide({.names = {}, .shown = {}, .address = to.address, .port = to.port, .may_show = true}).says == policy::Verdict::Says::kShow;
}

// By its name alone: the address that the guest dialled is not where the broker goes.
bool Door::has_fenced(const std::string& host, std::uint16_t port) const {
  const Facts facts{.names = {host}, .shown = host, .to = {*IpAddress::parse(kBrokerV4), port}};
  return ask(facts).allowed();
}

bool Door::is_past_a_fence(const Facts& facts, const std::string& shown) const {
  if (house_.handover == nullptr) return false;
  const auto is_one = [&](const std::string& name) { return house_.handover->fenced_off(id_, name, facts.to.port); };
  const std::string& named = facts.shown ? *facts.shown : shown;
  // An address for a name is what its server makes of it: one of the names that it is known by, perhaps.
  if (!named.empty() && !policy::looks_like_an_address(named)) return is_one(named);
  return std::ranges::any_of(facts.names, is_one) || std::ranges::any_of(ruled_names_of(facts.to.address), is_one);
}

void Door::look_at_fences() {
  for (Moving* one : moving_) {
    const auto past = std::ranges::find_if(one->asked, [this](const Moving::Asked& asked) { return is_past_a_fence(asked.facts, {}); });
    if (past == one->asked.end()) continue;
    note({.host = past->host, .address = past->facts.to.address.text(), .port = past->facts.to.port, .allowed = false, .reason = "fenced"});
    one->cut();
  }
}

const char* Door::why_not(const Facts& facts, const policy::Verdict& said) const {
  if (!standing_.allowed) return standing_.not_allowed;
  if (!said.rule.empty()) return "denied_by_rule";
  for (const std::string& name : facts.names) {
    if (standing_.rules->may_resolve(name).allowed()) return "port_not_in_policy";
  }
  return "not_in_policy";
}

void Door::look_at_rules() {
  policy::Choice choice = chosen();
  look_at_fences();
  if (choice == standing_.choice) return;
  const std::uint64_t number = standing_.number;
  standing_ = standing_of(std::move(choice));
  standing_.number = number + 1;
  decisions_.go_by(standing_.choice.policy, standing_.choice.rules);
  for (Moving* one : moving_) {
    for (const Moving::Asked& asked : one->asked) {
      const auto said = ask(asked.facts);
      const bool is_heard = one->is_heard || asked.facts.shown || !goes_by_names(asked.facts.to);
      if (said.allowed() && is_heard) continue;
      // Also where it now had to show a name, or what it shows now counts, and it was not looked at.
      note({.host = asked.host, .address = asked.facts.to.address.text(), .port = asked.facts.to.port, .allowed = false, .reason = "policy_changed", .rule = said.rule});
      one->cut();
      break;
    }
  }
  handed_.cut([&](const HandedOver::One& one) { return !standing_.opens_rules || (one.by_policy && !has_fenced(one.host, one.meant.port)); },
              [&](const HandedOver::One& one) {
                note({.host = one.host, .address = one.meant.address.text(), .port = one.meant.port, .allowed = false, .reason = "policy_changed"});
              });
  written_.set();
}

}  // namespace cay::gate
