// Captures: seals the disk of a sandbox as a layer. Running programs stand still meanwhile.
#pragma once
#include <memory>
#include <utility>

#include "core/layer_tree.h"
#include "core/pause.h"

namespace cay::core {

class Captures {
 public:
  Captures(std::shared_ptr<Registry> registry, LayerTree& layers, Pauses& pauses, Jobs& jobs)
      : registry_(std::move(registry)), layers_(layers), pauses_(pauses), jobs_(jobs) {}

  // Returns the new top layer of its stack, which `hold` keeps. Fails sandbox_not_ready for one
  // that never ran. To be run as a job: what is held still goes on in any case.
  struct Sealed {
    LayerRow layer;
    Grant hold;
  };
  Task<Sealed> seal(std::shared_ptr<Entry> entry);

 private:
  std::shared_ptr<Registry> registry_;
  LayerTree& layers_;
  Pauses& pauses_;
  Jobs& jobs_;
};

}  // namespace cay::core
