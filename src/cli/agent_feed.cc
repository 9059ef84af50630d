#include "cli/agent_feed.h"

namespace cay::cli {

void AgentFeed::on_event(const std::string& thread, const agent::ThreadEvent& event) {
  if (thread != thread_) {
    face_.on_event(thread, event);
    return;
  }
  if (event.seq <= shown_) return;
  if (event.seq > shown_ + 1) {
    const auto missed = log_.events(thread, shown_);
    for (const agent::ThreadEvent& one : missed ? *missed : std::vector<agent::ThreadEvent>()) {
      if (one.seq < event.seq) face_.on_event(thread, one);
    }
  }
  shown_ = event.seq;
  face_.on_event(thread, event);
}

void AgentFeed::on_delta(const std::string& thread, const agent::Delta& delta) {
  face_.on_delta(thread, delta);
}

void AgentFeed::on_tool_output(const std::string& thread, const std::string& call_id,
                               std::string_view bytes) {
  face_.on_tool_output(thread, call_id, bytes);
}

}  // namespace cay::cli
