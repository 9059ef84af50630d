// Pushes: sends snapshots to registries as images. A builder reads the layers.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "core/builder.h"
#include "core/imports.h"
#include "core/layer_tree.h"
#include "core/long_work.h"
#include "core/ports/images.h"
#include "model/snapshot_request.h"

namespace cay::core {

struct Push : LongWork {
  Push(asio::any_io_executor loop, PushState first)
      : LongWork(std::move(loop)), state(std::move(first)) {}

  PushState state;
  std::shared_ptr<Builder> builder{};
};

class Pushes {
 public:
  Pushes(const Runtimes& runtimes, LayerTree& layers, Imports& imports, Jobs& jobs)
      : runtimes_(runtimes), layers_(layers), imports_(imports), jobs_(jobs) {}

  // Fails as Imports::images(). kConflict (push_under_way): one push of a snapshot at a time.
  Result<std::shared_ptr<Push>> begin(const SnapshotInfo& snapshot, PushRequest request);
  // The newest push of a snapshot. Null: none since the daemon started.
  std::shared_ptr<Push> of(const SnapshotId& id) const;
  static PushState shown(const Push& push);
  void forget(const SnapshotId& id);
  void stop();  // the daemon ends

 private:
  Task<void> job(std::shared_ptr<Push> push, SnapshotInfo snapshot, PushRequest request);
  Task<std::string> attempt(std::shared_ptr<Push> push, SnapshotInfo snapshot, PushRequest request);

  const Runtimes& runtimes_;
  LayerTree& layers_;
  Imports& imports_;
  Jobs& jobs_;
  std::map<SnapshotId, std::shared_ptr<Push>> newest_;
};

}  // namespace cay::core
