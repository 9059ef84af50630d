// proxy_config.access_control: what a box may reach, as a policy of Cay's. An allow_list is a
// policy that lets nothing else through, a deny_list one that lets everything else through; an
// empty one is `off`, or `open`.
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
