// SandboxBases finds the layers and volumes that sandboxes stand on, which therefore must not be
// removed.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/disk_maker.h"
#include "launcher/host.h"
#include "launcher/sandbox_state.h"

namespace cay::launcher {

class SandboxBases {
 public:
  SandboxBases(const Host& host, const SandboxStates& sandboxes)
      : host_(host), sandboxes_(sandboxes) {}

  // Counts the sandboxes that need that layer anywhere below them. One whose record was lost counts
  // too: its disk may belong to any snapshot.
  std::size_t users_of_snapshot(const std::string& snapshot_id) const;
  // Counts the sandboxes that live and have it mounted.
  std::size_t users_of_volume(const std::string& volume_id) const;
  // Returns the layers that a sandbox's disk stands on, the highest first. kNotFound
  // (sandbox_not_found), kNotReady (sandbox_busy).
  Result<std::vector<std::string>> stack_below(const std::string& sandbox_id) const;
  // Returns that layer and those below it. Empty: none.
  Result<std::vector<std::string>> stack_on(const std::string& snapshot_id) const;
  // Returns how the disk of a sandbox that is being started is made, if it is made anew.
  Result<DiskPlan> plan_disk(const SandboxState& sandbox) const;

 private:
  bool stands_on(const SandboxState& sandbox, const std::string& layer) const;

  const Host& host_;
  const SandboxStates& sandboxes_;
};

}  // namespace cay::launcher
