#include "core/build_caches.h"

#include <algorithm>

#include "base/sha256.h"

namespace cay::core {
namespace {

constexpr std::string_view kCacheName = "build-cache:";  // users' names have no colon
constexpr std::size_t kCacheDigits = 32;
constexpr std::uint64_t kCacheBytes = 16ull << 30;

}  // namespace

Result<Volume> BuildCaches::row_of(const TenantId& tenant, const std::string& id) {
  const std::string name = std::string(kCacheName) + sha256_hex(id).substr(0, kCacheDigits);
  CAY_TRY(const auto all, registry_->store().volumes().all());
  const auto found = std::ranges::find_if(
      all, [&](const Volume& one) { return one.tenant == tenant && one.name == name; });
  if (found != all.end()) return *found;
  Volume row;
  row.id = VolumeId(new_uuid());
  row.tenant = tenant;
  row.name = name;
  row.disk_bytes = kCacheBytes;
  row.created_at = registry_->clock().wall();
  CAY_CHECK(registry_->store().volumes().put(row));
  return row;
}

// The row goes first: what a daemon leaves behind without one is removed.
Task<BuildCaches::Held> BuildCaches::take(TenantId tenant, std::string id) {
  VolumeDisks* const disks = runtimes_.first().runtime.volumes();
  if (disks == nullptr)
    co_return Error{Code::kUnsupported, "no_volumes",
                    "this runtime has no volumes, which RUN --mount=type=cache needs", 0};
  CAY_CO_TRY(const Volume row, row_of(tenant, id));
  auto turn = turns_.try_emplace(row.id, registry_->loop()).first;
  Held out;
  out.volume = row.id;
  auto locking = turn->second.lock();
  out.turn = co_await std::move(locking);
  auto making = disks->make(row.id, row.disk_bytes);
  CAY_CO_CHECK(co_await std::move(making));
  co_return std::move(out);
}

}  // namespace cay::core
