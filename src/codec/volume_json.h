// Volumes and the requests about them, as the native API speaks them.
#pragma once
#include "codec/fields.h"
#include "codec/json.h"
#include "model/volume.h"

namespace cay::codec {

json::object to_json(const VolumeInfo& volume);
// {"name", "disk_bytes"?}
void read_new_volume(Fields& fields, NewVolume& made);
// {"disk_bytes"}
void read_volume_size(Fields& fields, std::uint64_t& disk_bytes);

}  // namespace cay::codec
