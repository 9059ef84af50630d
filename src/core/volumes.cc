#include "core/volumes.h"

#include <algorithm>

#include "core/errors.h"
#include "core/validate.h"
#include "core/volume_use.h"

namespace cay::core {
namespace {

constexpr std::ptrdiff_t kMostVolumes = 1000;  // of one tenant

Result<void> check_volume_name(const std::string& name) {
  if (is_valid_name(name) && !is_uuid(name)) return {};
  return invalid("invalid_name",
                 "a volume's name has 1 to 63 letters, digits, '.', '_' or '-', begins and ends "
                 "with a letter or digit, and is no id");
}

// A runtime that keeps no disks of its own refuses by its own reason.
Error no_volumes(Error why) {
  if (why.code == Code::kUnsupported) why.reason = "no_volumes";
  return why;
}

}  // namespace

Result<VolumeDisks*> VolumeVerbs::disks() const {
  if (VolumeDisks* const found = runtimes_.first().runtime.volumes()) return found;
  return Error{Code::kUnsupported, "no_volumes",
               "this host keeps no volumes: `cay doctor` has the reason", 0};
}

Result<std::uint64_t> VolumeVerbs::checked_size(std::uint64_t disk_bytes) const {
  if (disk_bytes == 0) return defaults_.limits.disk_bytes;
  const std::uint64_t most = defaults_.maximum.disk_bytes;
  if (disk_bytes >= kLeastLimits.disk_bytes && disk_bytes <= most) return disk_bytes;
  return invalid("invalid_limits",
                 "disk_bytes is " + std::to_string(disk_bytes) + ": this host takes " +
                     std::to_string(kLeastLimits.disk_bytes) + " to " + std::to_string(most));
}

Task<VolumeVerbs::Used> VolumeVerbs::used() const {
  CAY_CO_TRY(VolumeDisks* const kept, disks());
  auto listed = co_await kept->list();
  if (!listed) co_return no_volumes(std::move(listed).error());
  co_return *std::move(listed);
}

std::vector<std::shared_ptr<Entry>> VolumeVerbs::users_of(const Volume& volume) const {
  auto out = registry_->entries();
  std::erase_if(out, [&](const auto& entry) {
    return entry->row.tenant != volume.tenant ||
           std::ranges::find(entry->row.volumes, volume.name, &VolumeMount::volume) ==
               entry->row.volumes.end();
  });
  return out;
}

VolumeInfo VolumeVerbs::info_of(Volume volume, const Used& used) const {
  VolumeInfo out;
  for (const auto& entry : users_of(volume)) out.sandboxes.push_back(entry->row.id);
  const auto disk = std::ranges::find(used, volume.id, &Used::value_type::first);
  out.disk_lost = disk == used.end();
  if (!out.disk_lost) out.used_bytes = disk->second;
  out.volume = std::move(volume);
  return out;
}

Task<void> VolumeVerbs::open() {
  CAY_CO_TRY(const auto rows, registry_->store().volumes().all());
  VolumeDisks* const kept = runtimes_.first().runtime.volumes();
  if (kept == nullptr) co_return Result<void>();
  const auto listed = co_await kept->list();
  if (!listed && listed.error().code == Code::kUnsupported) co_return Result<void>();
  if (!listed) co_return listed.error();
  for (std::size_t i = 0; i < listed->size(); ++i) {
    const VolumeId id = (*listed)[i].first;
    if (std::ranges::find(rows, id, &Volume::id) != rows.end()) continue;
    const auto gone = co_await kept->remove(id);
    if (!gone) jobs_.warn("volume " + id.get() + " has no row: " + gone.error().message);
  }
  for (const Volume& row : rows) {
    if (!is_reserved_volume(row.name) && info_of(row, *listed).disk_lost)
      jobs_.warn("volume " + row.name + " is lost: the store of disks does not have it");
  }
  co_return Result<void>();
}

Task<VolumeInfo> VolumeVerbs::create(Principal who, NewVolume made) {
  if (jobs_.closing) co_return shutting_down();
  if (jobs_.draining) co_return host_draining();
  CAY_CO_CHECK(disks());
  CAY_CO_CHECK(check_volume_name(made.name));
  Volume row;
  CAY_CO_TRY(row.disk_bytes, checked_size(made.disk_bytes));
  CAY_CO_TRY(const auto all, registry_->store().volumes().all());
  const auto own = std::ranges::count(all, who.tenant, &Volume::tenant);
  if (own >= kMostVolumes) {
    co_return Error{Code::kExhausted, "too_many_volumes",
                    "there are " + std::to_string(own) + " volumes: remove some", 0};
  }
  const DiskRoom& room = runtimes_.first().disk;
  if (room.free_bytes && room.free_bytes() < room.reserve_bytes) {
    co_return Error{Code::kExhausted, "quota_storage",
                    "storage is exhausted: the host has only left what it keeps back; delete "
                    "sandboxes or volumes, or free disk space",
                    0};
  }
  const bool taken = std::ranges::any_of(
      all, [&](const Volume& one) { return one.tenant == who.tenant && one.name == made.name; });
  if (taken) {
    co_return Error{Code::kAlreadyExists, "volume_exists",
                    "a volume named '" + made.name + "' exists: choose another name", 0};
  }
  row.id = VolumeId(new_uuid());
  row.tenant = who.tenant;
  row.name = std::move(made.name);
  row.created_by = who.key_name;
  row.created_at = registry_->clock().wall();
  auto work = create_job(row);
  CAY_CO_CHECK(co_await jobs_.finish<void>(std::move(work)));
  const Used fresh{{row.id, 0}};
  co_return info_of(std::move(row), fresh);
}

Task<void> VolumeVerbs::create_job(Volume volume) {
  CAY_CO_TRY(VolumeDisks* const kept, disks());
  auto made = co_await kept->make(volume.id, volume.disk_bytes);
  if (!made) co_return no_volumes(std::move(made).error());
  auto put = registry_->store().volumes().put(volume);
  if (put) co_return put;
  const auto unmade = co_await kept->remove(volume.id);
  if (!unmade) jobs_.warn("volume " + volume.id.get() + ": " + unmade.error().message);
  co_return put;
}

Task<std::vector<VolumeInfo>> VolumeVerbs::list(Principal who) {
  CAY_CO_TRY(auto rows, registry_->store().volumes().all());
  std::erase_if(rows, [&](const Volume& one) {
    return one.tenant != who.tenant || is_reserved_volume(one.name);
  });
  std::vector<VolumeInfo> out;
  if (rows.empty()) co_return out;
  CAY_CO_TRY(const Used now, co_await used());
  for (Volume& row : rows) out.push_back(info_of(std::move(row), now));
  co_return out;
}

Task<VolumeInfo> VolumeVerbs::get(Principal who, std::string ref) {
  CAY_CO_CHECK(find_volume(registry_->store().volumes(), who.tenant, ref));
  CAY_CO_TRY(const Used now, co_await used());
  CAY_CO_TRY(Volume row, find_volume(registry_->store().volumes(), who.tenant, ref));
  co_return info_of(std::move(row), now);
}

Task<VolumeInfo> VolumeVerbs::resize(Principal who, std::string ref, std::uint64_t disk_bytes) {
  if (jobs_.closing) co_return shutting_down();
  CAY_CO_TRY(Volume row, find_volume(registry_->store().volumes(), who.tenant, ref));
  CAY_CO_TRY(row.disk_bytes, checked_size(disk_bytes));
  auto work = resize_job(row);
  CAY_CO_CHECK(co_await jobs_.finish<void>(std::move(work)));
  auto got = co_await get(std::move(who), row.id.get());
  co_return got;
}

// The launcher would make a directory that is not there.
Task<void> VolumeVerbs::resize_job(Volume volume) {
  CAY_CO_TRY(const Used now, co_await used());
  VolumeStore& rows = registry_->store().volumes();
  CAY_CO_CHECK(find_volume(rows, volume.tenant, volume.id.get()));
  if (info_of(volume, now).disk_lost) {
    co_return Error{Code::kNotFound, "volume_not_found",
                    "volume '" + volume.name + "' is lost: the store of disks does not have it", 0};
  }
  CAY_CO_TRY(VolumeDisks* const kept, disks());
  CAY_CO_CHECK(rows.put(volume));
  auto made = co_await kept->make(volume.id, volume.disk_bytes);
  co_return made;
}

Task<void> VolumeVerbs::remove(Principal who, std::string ref) {
  if (jobs_.closing) co_return shutting_down();
  CAY_CO_CHECK(disks());
  CAY_CO_TRY(Volume row, find_volume(registry_->store().volumes(), who.tenant, ref));
  const auto users = users_of(row);
  if (!users.empty()) {
    co_return Error{Code::kConflict, "volume_in_use",
                    "volume '" + row.name + "' belongs to sandbox '" + users.front()->row.name +
                        "'" + (users.size() > 1 ? " and others" : "") + ": delete it first",
                    0};
  }
  CAY_CO_CHECK(registry_->store().volumes().erase(row.id));
  auto work = remove_job(std::move(row));
  auto gone = co_await jobs_.finish<void>(std::move(work));
  co_return gone;
}

Task<void> VolumeVerbs::remove_job(Volume volume) {
  CAY_CO_TRY(VolumeDisks* const kept, disks());
  auto gone = co_await kept->remove(volume.id);
  if (gone) co_return gone;
  // It is still there, under its name, unless another one took that meanwhile.
  const auto back = registry_->store().volumes().put(volume);
  if (!back) jobs_.warn("volume " + volume.name + ": " + back.error().message);
  co_return std::move(gone).error().while_doing("remove volume " + volume.name);
}

}  // namespace cay::core
