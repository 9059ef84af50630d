// Forks: copies of a sandbox with its disk, and the return of a sandbox to a snapshot's disk.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/boot.h"
#include "core/layer_tree.h"
#include "core/lifecycle.h"
#include "core/pause.h"
#include "core/settings.h"
#include "model/snapshot_request.h"

namespace cay::core {

class Forks {
 public:
  Forks(std::shared_ptr<Registry> registry, Boots& boots, Lifecycle& lifecycle, Pauses& pauses,
        Runtimes& runtimes, LayerTree& layers, Jobs& jobs, Timing timing)
      : registry_(std::move(registry)),
        boots_(boots),
        lifecycle_(lifecycle),
        pauses_(pauses),
        runtimes_(runtimes),
        layers_(layers),
        jobs_(jobs),
        timing_(timing) {}

  // Does not wait for room on the host: the source would be held still as long. If one copy fails,
  // none is left.
  Task<std::vector<Sandbox>> fork(Principal who, std::shared_ptr<Entry> source,
                                  ForkRequest request);
  // `to`: absent: the layers that it stands on.
  Task<Sandbox> rollback(Principal who, std::shared_ptr<Entry> entry,
                         std::optional<SnapshotInfo> to);

 private:
  using Made = std::vector<std::pair<std::shared_ptr<Entry>, std::shared_ptr<Boot>>>;
  Task<std::vector<Sandbox>> fork_job(Principal who, std::shared_ptr<Entry> source,
                                      ForkRequest request);
  Result<void> begin_all(const Principal& who, const Entry& source, const ForkRequest& request,
                         Made& made);
  Sandbox row_of(const Principal& who, const Sandbox& source, const ForkRequest& request,
                 std::size_t index) const;
  Task<std::shared_ptr<Boot>> renew(Principal who, std::shared_ptr<Entry> entry,
                                    std::optional<SnapshotInfo> to);

  std::shared_ptr<Registry> registry_;
  Boots& boots_;
  Lifecycle& lifecycle_;
  Pauses& pauses_;
  Runtimes& runtimes_;
  LayerTree& layers_;
  Jobs& jobs_;
  Timing timing_;
};

}  // namespace cay::core
