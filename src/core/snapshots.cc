#include "core/snapshots.h"

#include <algorithm>

#include "core/errors.h"

namespace cay::core {

Task<std::vector<SnapshotInfo>> SnapshotVerbs::list(Principal) {
  CAY_CO_TRY(auto all, registry_->store().snapshots().all());
  // The one that the name means comes first.
  const auto meant = std::ranges::find(all, default_, &SnapshotInfo::id);
  if (meant != all.end()) std::rotate(all.begin(), meant, meant + 1);
  co_return all;
}

Result<SnapshotInfo> SnapshotVerbs::find(const std::string& name_or_id) const {
  const std::string wanted = name_or_id.empty() ? "default" : name_or_id;
  CAY_TRY(const auto all, registry_->store().snapshots().all());
  const SnapshotInfo* best = nullptr;
  const SnapshotInfo* unfit = nullptr;
  for (const auto& snapshot : all) {
    if (snapshot.id.get() != wanted && snapshot.name != wanted) continue;
    if (wanted == "default" && snapshot.id != default_) continue;
    if (snapshot.status != "ready") {
      unfit = &snapshot;
    } else if (best == nullptr || snapshot.created_at > best->created_at) {
      best = &snapshot;  // the newest of a name
    }
  }
  if (best != nullptr) return *best;
  if (unfit != nullptr) {
    return Error{Code::kNotReady, "snapshot_not_ready",
                 "snapshot '" + wanted + "' is " + unfit->status, 0};
  }
  return snapshot_not_found(wanted);
}

}  // namespace cay::core
