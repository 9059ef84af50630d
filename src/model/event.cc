#include "model/event.h"

#include <tuple>

namespace cay {
namespace {

// As its owner gave them: that a secret of theirs was removed, or is there again, is none of his
// changes.
std::vector<ProxyRule> as_given(std::vector<ProxyRule> rules) {
  for (ProxyRule& rule : rules) {
    rule.gone = false;
    rule.gone_hosts.clear();
  }
  return rules;
}

// Returns true if a member that its owner may change (SandboxPatch) has changed, but for a facade's
// own.
bool edited(const Sandbox& before, const Sandbox& after) {
  const auto settings = [](const Sandbox& one) {
    return std::tie(one.name, one.labels, one.limits, one.run, one.policy, one.rules,
                    one.idle_ttl_s, one.delete_after_stop_s, one.lifetime_s,
                    one.commands_keep_awake, one.read_only_paths, one.hidden_paths);
  };
  return settings(before) != settings(after) ||
         (before.proxy != after.proxy && as_given(before.proxy) != as_given(after.proxy));
}

}  // namespace

std::string event_of(const Sandbox& before, const Sandbox& after) {
  if (before.state == after.state) return edited(before, after) ? "sandbox.updated" : std::string();
  const std::string was(to_string(before.state));
  const std::string is(to_string(after.state));
  if (is == "provisioning") return "sandbox.starting";
  if (is == "ready") return was == "paused" ? "sandbox.resumed" : "sandbox.started";
  return "sandbox." + is;  // stopped, paused, failed, deleting
}

EventRecord event_about(const Sandbox& sandbox, std::string type, UnixMillis at, std::string by) {
  EventRecord event;
  event.tenant = sandbox.tenant;
  event.at = at;
  event.type = std::move(type);
  event.sandbox_id = sandbox.id;
  event.sandbox = sandbox.name;
  event.labels = sandbox.labels;
  event.reason = sandbox.reason;
  event.by = std::move(by);
  return event;
}

}  // namespace cay
