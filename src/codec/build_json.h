// Builds of Dockerfiles, as the native API speaks them: the part `build` of a request, and the log.
#pragma once
#include "codec/fields.h"
#include "codec/json.h"
#include "model/build_request.h"
#include "model/snapshot_request.h"

namespace cay::codec {

// {"dockerfile", "target"?, "arguments"?, "secrets"?, "policy"?, "no_cache"?, "pull"?, "logins"?,
// "platform"?} and the members of a NewSnapshot. A reader takes "rules", a list, for the policy.
json::object to_json(const BuildRequest& request, const NewSnapshot& made);
void read_build(Fields& fields, BuildRequest& request, NewSnapshot& made);

// {"snapshot_id", "state", "from", "end", "text", "message", "reason"}
json::object to_json(const BuildLog& log);
Result<BuildLog> build_log_from(const json::value& in);

}  // namespace cay::codec
