// Snapshots as Daytona's clients read them (protocol reference, section 2.2).
#pragma once
#include <string>

#include "codec/fields.h"
#include "codec/json.h"
#include "model/limits.h"
#include "model/snapshot.h"
#include "model/snapshot_request.h"

namespace cay::api::daytona {

codec::json::object snapshot_json(const SnapshotInfo& snapshot, const Limits& usual);

// The name that clients gave: "NAME", or "NAME:TAG".
std::string full_name(const SnapshotInfo& snapshot);
// Sets the name and tag of a snapshot that a client calls `name`.
void set_name(NewSnapshot& made, const std::string& name);

// The resources of its sandboxes, which it keeps as labels of its configuration. Zeros: none.
Limits resources_of(const SnapshotInfo& snapshot);
void keep_resources(NewSnapshot& made, const Limits& limits);

}  // namespace cay::api::daytona
