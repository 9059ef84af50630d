// KeeperState: the LiveState role over a keeper's connection.
#pragma once
#include <memory>
#include <utility>

#include "core/ports/live_sandbox.h"
#include "runtime/keeper/persistent_link.h"

namespace cay::runtime {

class KeeperState : public virtual core::LiveState {
 public:
  explicit KeeperState(std::shared_ptr<PersistentLink> line) : line_(std::move(line)) {}

  Task<core::SandboxStats> stats() override;
  Task<void> pause() override;
  Task<void> resume() override;

 private:
  std::shared_ptr<PersistentLink> line_;
};

}  // namespace cay::runtime
