// NativeLayers and NativeVolumes: the Layers and VolumeDisks ports on this host. The launcher keeps
// both, and its HELLO lists whether it can (wire/launcher_features.h).
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "core/ports/runtime.h"
#include "core/ports/store_check.h"
#include "runtime/native/launcher_client.h"

namespace cay::runtime {

// kUnsupported (no_layers, paths_unsupported) if this launcher lacks a feature that the boot needs.
// An empty HELLO is of a launcher that was not met yet, and lacks nothing.
Result<void> check_layer_features(const core::BootSpec& spec, const wire::Hello& launcher);

// Fills the members of the request that concern disks and the paths on them.
void fill_disk(const core::BootSpec& spec, wire::CreateSandbox& request);

class NativeLayers final : public core::Layers, public core::StoreCheck {
 public:
  // `launcher` outlives this.
  explicit NativeLayers(LauncherClient& launcher) : launcher_(launcher) {}

  Task<core::Layer> seal(SandboxId from, LayerId as) override;
  Task<void> remove(LayerId id) override;
  Task<std::vector<core::Layer>> list() override;
  Task<std::vector<StoreFinding>> check(bool repair) override;

 private:
  LauncherClient& launcher_;
};

class NativeVolumes final : public core::VolumeDisks {
 public:
  // `launcher` outlives this.
  explicit NativeVolumes(LauncherClient& launcher) : launcher_(launcher) {}

  Task<void> make(VolumeId id, std::uint64_t bytes) override;
  Task<void> remove(VolumeId id) override;
  Task<std::vector<std::pair<VolumeId, std::uint64_t>>> list() override;

 private:
  LauncherClient& launcher_;
};

}  // namespace cay::runtime
