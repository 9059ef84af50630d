#include "cli/agent_json_face.h"

#include <utility>

#include "agent/threads/log.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

std::string_view name_of(agent::Delta::Kind kind) {
  switch (kind) {
    case agent::Delta::Kind::kText: return "text";
    case agent::Delta::Kind::kThinking: return "thinking";
    case agent::Delta::Kind::kCallBegin: return "call";
    case agent::Delta::Kind::kCallArguments: return "arguments";
    case agent::Delta::Kind::kRestarted: return "restarted";
  }
  return "";
}

}  // namespace

void JsonFace::on_event(const std::string& thread, const agent::ThreadEvent& event) {
  write(thread, agent::to_json(event));
}

void JsonFace::on_delta(const std::string& thread, const agent::Delta& delta) {
  if (!options_.stream) return;
  write(thread,
        {{"type", "delta"}, {"kind", name_of(delta.kind)}, {"text", codec::text(delta.text)}});
}

void JsonFace::on_tool_output(const std::string& thread, const std::string& call_id,
                              std::string_view bytes) {
  if (!options_.stream) return;
  write(thread, {{"type", "tool_output"}, {"call_id", call_id}, {"text", codec::text(bytes)}});
}

void JsonFace::write(const std::string& thread, json::object line) const {
  line["thread"] = thread;
  options_.write(codec::write(line) + "\n");
}

}  // namespace cay::cli
