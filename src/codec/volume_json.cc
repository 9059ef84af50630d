#include "codec/volume_json.h"

#include <limits>

#include "codec/time.h"

namespace cay::codec {
namespace {

bool read_bytes(Fields& fields, std::uint64_t& out, std::int64_t least) {
  std::int64_t value = 0;
  if (!fields.read("disk_bytes", value, least, std::numeric_limits<std::int64_t>::max()))
    return false;
  out = static_cast<std::uint64_t>(value);
  return true;
}

}  // namespace

json::object to_json(const VolumeInfo& info) {
  json::array sandboxes;
  for (const SandboxId& one : info.sandboxes) sandboxes.emplace_back(one.get());
  return {{"id", info.volume.id.get()},
          {"name", text(info.volume.name)},
          {"disk_bytes", info.volume.disk_bytes},
          {"used_bytes", info.used_bytes},
          {"sandboxes", std::move(sandboxes)},
          {"disk_lost", info.disk_lost},
          {"created_at", rfc3339(info.volume.created_at)},
          {"created_by", text(info.volume.created_by)}};
}

void read_new_volume(Fields& fields, NewVolume& made) {
  if (!fields.read("name", made.name)) fields.complain("name", "is needed");
  read_bytes(fields, made.disk_bytes, 0);
}

void read_volume_size(Fields& fields, std::uint64_t& disk_bytes) {
  if (!fields.has("disk_bytes")) return fields.complain("disk_bytes", "is needed");
  read_bytes(fields, disk_bytes, 1);
}

}  // namespace cay::codec
