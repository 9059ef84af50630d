// proxy_config.access_control: what a box may reach, as a policy of Cay's. An allow_list is a policy that lets nothing else through, a deny_list
// one that lets everything else through; an empty one is `off`, or `open`.
#pragma once
#include <optional>
#include <string>

#include "codec/fields.h"
#include "codec/json.h"
#include "model/sandbox.h"

namespace cay::api::langsmith {

// The words for it. Empty: nothing was said, or what was is in `fields`' complaints.
std::string read_access_control(codec::Fields& fields);
// What a box has, as its client would ask for it; nullopt: it has a policy that this protocol cannot say.
std::optional<codec::json::object> access_control_json(const Sandbox& sandbox);

}  // namespace cay::api::langsmith
