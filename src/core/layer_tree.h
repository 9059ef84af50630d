// LayerTree: the layers of the first runtime. It knows which stands on which and which content is
// there already, and removes the layers that nobody needs.
//
// A snapshot needs its layer, a sandbox needs the one that it stands on, and a layer needs the one
// below it. Layers of builds (LayerRow::used_at) are kept for a while, for the next build.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/admission.h"
#include "core/jobs.h"
#include "core/registry.h"
#include "model/snapshot.h"

namespace cay::core {

class LayerTree {
 public:
  LayerTree(std::shared_ptr<Registry> registry, const Runtimes& runtimes, Jobs& jobs)
      : registry_(std::move(registry)), runtimes_(runtimes), jobs_(jobs) {}

  // Fails kUnsupported (no_layers): the host's disks cannot be sealed.
  Result<Layers*> layers() const;
  // The same for a sandbox. Another runtime than the first keeps its disks elsewhere, and fails so.
  Result<Layers*> layers_of(const Entry& entry) const;

  // Reads the rows, before open().
  Result<void> load();
  // At start, after the sandboxes are known. Fails the snapshots whose layers are gone, and begins
  // to remove layers that nobody needs. Fails if the store or the runtime cannot be read.
  Task<void> open();

  // Returns the layer of this content: LayerRow::chain. Imports and builds put the tenant before
  // it.
  std::optional<LayerId> with_content(const std::string& chain) const;
  // Notes that a build uses a layer. No other layer has its chain from then on.
  Result<void> use(const LayerId& id);
  Result<void> put(LayerRow row);
  // All that are known: those of the host too.
  const std::map<LayerId, LayerRow>& rows() const { return rows_; }
  // The layers that something stands on, and those that are held.
  Result<std::set<LayerId>> needed() const;
  // Drops the row of a layer that is not on the disk any more.
  Result<void> forget(const LayerId& id);
  bool carries_another(const LayerId& id) const;
  // The top one first. Layers without a row, as those of a runtime without layers, end it.
  std::vector<LayerId> stack(const LayerId& top) const;
  std::uint64_t bytes_of(const LayerId& top) const;  // of the whole stack

  // Keeps a layer and those below it while it lives.
  Grant hold(const LayerId& id);
  // Removes what nobody needs any more, in the background.
  void collect();

  // Fills used_bytes and own_bytes of all snapshots that have layers.
  void measure(std::vector<SnapshotInfo>& all) const;

 private:
  Task<void> collect_job();
  void add_of_builds(std::set<LayerId>& needed) const;
  Result<void> fail_broken(const std::set<LayerId>& whole);
  Result<void> erase_retired(const LayerId& gone);

  std::shared_ptr<Registry> registry_;
  const Runtimes& runtimes_;
  Jobs& jobs_;
  std::map<LayerId, LayerRow> rows_;
  struct State {  // what outlives the tree, in frames of work that is dropped with the loop
    std::map<LayerId, int> held;
    bool collecting = false;
    bool again = false;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace cay::core
