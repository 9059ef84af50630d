// What the gate refused while a command ran that then failed: pip, npm and apt say of a host that the policy refuses that there is no such thing.
#pragma once
#include <optional>
#include <string>

#include "cay/client.h"
#include "codec/json.h"

namespace cay::cli {

// Each host and port once, the latest last, no more than 32: {"host", "port", "reason", "rule", "needs"}. `report` is of GET …/network; `since`: as that writes times.
codec::json::array refused_since(const codec::json::object& report, const std::string& since);

struct WhereItRan {
  std::string name;      // as a person calls the sandbox
  bool removed = false;  // with its command: nothing can be added to its policy any more
};
// For people, three lines at most, without a line end; empty: nothing was refused.
std::string refusal_note(const codec::json::object& report, const std::string& since, const WhereItRan& where);

// The report, once it tells of something refused since then, or there was time for it to be written; nullopt: nobody could tell, and soon.
std::optional<codec::json::object> report_of_refusals(const sdk::Sandbox& box, const std::string& since);

}  // namespace cay::cli
