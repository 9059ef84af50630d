// FakeLayers and FakeVolumes: the layers and volumes of a fake runtime, in memory. A layer keeps
// the entries that were written to the sandbox, as they came.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/ports/runtime.h"
#include "core/testing/fake_files.h"

namespace cay::core::testing {

// A LayerSource over prepared events. After `fail_after` events it fails with kCancelled.
std::unique_ptr<LayerSource> layer_source(std::vector<LayerEvent> events, int fail_after = -1);

// The entries of what lies at `path`: of a file its own, with an empty path.
std::vector<LayerEvent> events_below(const std::vector<LayerEvent>& events,
                                     const std::string& path);

// A sandbox's disk, as far as write_layer() made it.
struct FakeUpper {
  LayerId stands_on;  // of its last boot
  std::vector<LayerEvent> entries;
};

// Puts files and directories of a layer into a tree, below `root`.
void put_files(const std::vector<LayerEvent>& events, FakeFiles& into,
               const std::string& root = "/");

// A sealed layer.
struct FakeLayer {
  Layer layer;
  std::vector<LayerEvent> entries;
};

class FakeLayers : public Layers {
 public:
  using UpperOf = std::function<std::shared_ptr<FakeUpper>(const SandboxId&)>;  // null: no disk
  // Whether a disk stands on a layer.
  using Used = std::function<bool(const LayerId&)>;
  FakeLayers(UpperOf upper_of, Used used)
      : upper_of_(std::move(upper_of)), used_(std::move(used)) {}

  std::map<LayerId, FakeLayer> sealed;
  std::optional<Error> seal_error;
  std::optional<Error> remove_error;
  std::vector<std::pair<SandboxId, LayerId>> seals;  // every call
  std::vector<LayerId> removals;                     // every call

  Task<Layer> seal(SandboxId from, LayerId as) override;
  Task<void> remove(LayerId id) override;
  Task<std::vector<Layer>> list() override;

 private:
  UpperOf upper_of_;
  Used used_;
};

class FakeVolumes : public VolumeDisks {
 public:
  struct Kept {
    std::uint64_t limit = 0;
    std::uint64_t used = 0;
  };
  std::map<VolumeId, Kept> kept;
  std::optional<Error> error;  // every call fails with it

  Task<void> make(VolumeId id, std::uint64_t bytes) override;
  Task<void> remove(VolumeId id) override;
  Task<std::vector<std::pair<VolumeId, std::uint64_t>>> list() override;
};

}  // namespace cay::core::testing
