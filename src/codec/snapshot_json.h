// Snapshots and the requests about them, as the native API speaks them. The daemon reads requests
// strictly, and a client reads answers leniently.
#pragma once
#include "codec/fields.h"
#include "codec/json.h"
#include "model/snapshot.h"
#include "model/snapshot_request.h"

namespace cay::codec {

// ---- answers ----

json::object to_json(const ImageConfig& config);
json::object to_json(const SnapshotInfo& snapshot);
json::object to_json(const PushState& push);
Result<SnapshotInfo> snapshot_from(const json::value& in);
Result<PushState> push_from(const json::value& in);

// ---- requests: as a client writes them, and as the daemon reads them ----

// {"image", "platform"?, "login"?} and the members of a NewSnapshot.
json::object to_json(const ImageSource& source, const NewSnapshot& made);
void read_image_source(Fields& fields, ImageSource& source);
// {"name"?, "tag"?, "config"?, "user"?, "workdir"?, "env"?, "labels"?, "disk_bytes"?, "built"?}
json::object to_json(const NewSnapshot& made);
void read_new_snapshot(Fields& fields, NewSnapshot& made);
// {"username"?, "password"?, "identity_token"?}
json::object to_json(const RegistryLogin& login);
void read_login(Fields& fields, RegistryLogin& login);
void read_login_members(Fields& fields, RegistryLogin& login);  // of the object itself
// {"names"?, "count"?, "labels"?}
json::object to_json(const ForkRequest& request);
void read_fork(Fields& fields, ForkRequest& request);

}  // namespace cay::codec
