// The connections that a sandbox tried, and the ones that it may make -> JSON of the native API.
#pragma once
#include <string>
#include <string_view>

#include "codec/json.h"
#include "model/network.h"

namespace cay::codec {

json::object to_json(const NetworkReport& report);
json::object to_json(const DecidedPage& page);
json::object to_json(const NetworkQuestion& question);
json::object to_json(const PolicyList& list);
json::object to_json(const PolicyTrial& trial);
// Rules, as a sandbox has them, one by one.
json::array lines_of(std::string_view text);

// Returns in words what would let a refused connection through, or "" if nothing would or need.
// `takes_hosts` is its report's.
std::string remedy_for(const NetworkDecision& decision, bool takes_hosts);

}  // namespace cay::codec
