// These functions translate proxy_config.access_control, the hosts that a box may reach, into a
// policy of Cay's and back. An allow_list becomes a policy that allows nothing else. A deny_list
// becomes one that allows everything else. An empty allow_list is `off`, and an empty deny_list is
// `open`.
#pragma once
#include <optional>
#include <string>

#include "codec/fields.h"
#include "codec/json.h"
#include "model/sandbox.h"

namespace cay::api::langsmith {

// Returns the policy's words. Empty: the request has none, or `fields` has the complaint.
std::string read_access_control(codec::Fields& fields);
// Returns a box's policy as its client would write it. nullopt: this protocol cannot express it.
std::optional<codec::json::object> access_control_json(const Sandbox& sandbox);

}  // namespace cay::api::langsmith
