// The events of a run as updates of the Agent Client Protocol, version 1: the `update` member of
// session/update. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "agent/llm/model.h"
#include "agent/threads/event.h"

namespace cay::agent::acp {

// Returns no updates for an event that the protocol has no word for. `streamed`: the text of an
// assistant's message has come in pieces.
std::vector<codec::json::object> updates_of(const ThreadEvent& event, bool streamed);
// The same for an event of a former run, where the user's messages are shown, too.
std::vector<codec::json::object> former_updates_of(const ThreadEvent& event);
// Empty for a piece that is not shown.
codec::json::object update_of(const Delta& delta);

// {toolCallId, title, kind, rawInput, …} of a call, as tool_call and request_permission have it.
codec::json::object tool_call(const ToolCall& call);

// end_turn, max_tokens, max_turn_requests, refusal or cancelled, for the data of run_ended.
std::string stop_reason(const codec::json::object& run_ended);

}  // namespace cay::agent::acp
