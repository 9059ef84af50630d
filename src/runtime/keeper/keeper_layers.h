// KeeperLayers: the LiveLayers role over a keeper's connection.
#pragma once
#include <memory>
#include <string>
#include <utility>

#include "core/ports/live_sandbox.h"
#include "runtime/keeper/persistent_link.h"

namespace cay::runtime {

class KeeperLayers : public virtual core::LiveLayers {
 public:
  explicit KeeperLayers(std::shared_ptr<PersistentLink> line) : line_(std::move(line)) {}

  Task<void> write_layer(std::unique_ptr<core::LayerSource> entries) override;
  Task<std::unique_ptr<core::LayerSource>> read_layer(std::string path) override;

 private:
  std::shared_ptr<PersistentLink> line_;
};

}  // namespace cay::runtime
