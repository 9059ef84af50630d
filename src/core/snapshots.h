// SnapshotVerbs: core::Snapshots over the store, and which of them a name means.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "core/registry.h"
#include "core/verbs/snapshots.h"

namespace cay::core {

class SnapshotVerbs : public Snapshots {
 public:
  explicit SnapshotVerbs(std::shared_ptr<Registry> registry) : registry_(std::move(registry)) {}

  // Sets the snapshot that `default` means. The newest of that name may be of earlier settings.
  void use_default(SnapshotId id) { default_ = std::move(id); }

  Task<std::vector<SnapshotInfo>> list(Principal who) override;
  // Returns the newest ready one of this name, or the one of this id; empty: `default`. Fails
  // kNotFound (snapshot_not_found), kNotReady (snapshot_not_ready).
  Result<SnapshotInfo> find(const std::string& name_or_id) const;

 private:
  std::shared_ptr<Registry> registry_;
  SnapshotId default_{};
};

}  // namespace cay::core
