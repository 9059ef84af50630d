// These functions write events as JSON, for GET /events, the event stream and webhooks.
#pragma once
#include "codec/json.h"
#include "model/event.h"

namespace cay::codec {

// Members that an event does not have are left out.
json::object to_json(const EventRecord& event);
// {"items", "next_after", "oldest", "last", "gap"}; gap: null, or {"from", "to"}.
json::object to_json(const EventPage& page);
json::value gap_json(const EventPage& page);

}  // namespace cay::codec
