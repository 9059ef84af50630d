#include "model/event.h"

namespace cay {

std::string event_of(const Sandbox& before, const Sandbox& after) {
  if (before.state == after.state) {
    const bool edited = before.name != after.name || before.labels != after.labels || before.limits != after.limits;
    return edited ? "sandbox.updated" : std::string();
  }
  const std::string was(to_string(before.state));
  const std::string is(to_string(after.state));
  if (is == "provisioning") return "sandbox.starting";
  if (is == "ready") return was == "paused" ? "sandbox.resumed" : "sandbox.started";
  return "sandbox." + is;  // stopped, paused, failed, deleting
}

EventRecord event_about(const Sandbox& sandbox, std::string type, UnixMillis at) {
  EventRecord event;
  event.tenant = sandbox.tenant;
  event.at = at;
  event.type = std::move(type);
  event.sandbox_id = sandbox.id;
  event.sandbox = sandbox.name;
  event.labels = sandbox.labels;
  event.reason = sandbox.reason;
  return event;
}

}  // namespace cay
