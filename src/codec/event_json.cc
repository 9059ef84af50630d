#include "codec/event_json.h"

#include "codec/time.h"

namespace cay::codec {

json::object to_json(const EventRecord& event) {
  json::object out{{"seq", event.seq}, {"at", rfc3339(event.at)}, {"type", event.type}};
  if (!event.sandbox_id.get().empty()) {
    out["sandbox_id"] = event.sandbox_id.get();
    out["sandbox"] = text(event.sandbox);
    json::object labels;
    for (const auto& [key, value] : event.labels) labels[text(key)] = text(value);
    out["labels"] = std::move(labels);
  }
  if (!event.reason.empty()) out["reason"] = text(event.reason);
  if (!event.command_id.get().empty()) out["command_id"] = event.command_id.get();
  if (!event.state.empty()) out["state"] = event.state;
  if (!event.by.empty()) out["by"] = text(event.by);
  if (event.exit_code) out["exit_code"] = *event.exit_code;
  if (event.signal) out["signal"] = *event.signal;
  return out;
}

json::value gap_json(const EventPage& page) {
  if (page.gap_begin == 0) return nullptr;
  return json::object{{"from", page.gap_begin}, {"to", page.gap_end}};
}

json::object to_json(const EventPage& page) {
  json::array items;
  for (const auto& event : page.items) items.emplace_back(to_json(event));
  return {{"items", std::move(items)},
          {"next_after", page.next_after},
          {"oldest", page.oldest},
          {"last", page.last},
          {"gap", gap_json(page)}};
}

}  // namespace cay::codec
