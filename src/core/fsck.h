// Fsck: compares the rows of snapshots, layers and sandboxes with what the first runtime has on its
// disk, and that runtime's files with each other.
#pragma once
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/layer_tree.h"
#include "core/ports/layers.h"
#include "core/registry.h"
#include "core/runtimes.h"
#include "core/verbs/contents.h"

namespace cay::core {

class Fsck {
 public:
  Fsck(std::shared_ptr<Registry> registry, const Runtimes& runtimes, LayerTree& layers)
      : registry_(std::move(registry)), runtimes_(runtimes), layers_(layers) {}

  Task<StoreReport> check(Repair repair);

 private:
  struct Look {  // at one moment
    std::map<LayerId, Layer> on_disk;
    std::set<LayerId> whole;  // those, and the trees of the host
    std::vector<SnapshotInfo> snapshots;
    std::vector<SandboxId> disks;
  };
  Task<Look> look(Layers* role);
  // Looks until nothing is under way that would be taken for a fault.
  Task<Look> settled(Layers* role);
  bool is_unsettled(const Look& now) const;
  Result<void> check_snapshots(const Look& at, Repair repair, StoreReport& out);
  Result<void> check_rows(const Look& at, Repair repair, StoreReport& out);
  Task<void> check_layers(const Look& at, Layers* role, Repair repair, StoreReport& out);
  Task<void> check_disks(const Look& at, Repair repair, StoreReport& out);
  bool is_stray(const LayerId& id) const;
  bool is_stray(const SandboxId& id) const;

  std::shared_ptr<Registry> registry_;
  const Runtimes& runtimes_;
  LayerTree& layers_;
};

}  // namespace cay::core
