// What a sandbox tried to reach -> JSON of the native API.
#pragma once
#include <string>

#include "codec/json.h"
#include "model/network.h"

namespace cay::codec {

json::object to_json(const NetworkReport& report);

// What would let a refused one through, in words; "" where nothing would, or nothing need.
std::string remedy_for(const NetworkDecision& decision);

}  // namespace cay::codec
