// Builder: a temporary sandbox of Cay's own, which writes or reads layers, or runs a step of a
// build. It has no row: what a daemon leaves behind, its successor removes (Runtime::adopt).
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "core/admission.h"
#include "core/ports/runtime.h"
#include "core/runtimes.h"

namespace cay::core {

class Builder {
 public:
  // It takes room as a sandbox of `tenant`. `most_bytes`: its disk limit, if the host has as much.
  Builder(const RuntimeHost& host, TenantId tenant, std::uint64_t most_bytes)
      : host_(host), tenant_(std::move(tenant)), most_bytes_(most_bytes), id_(new_uuid()) {}

  // Boots it on `below` (empty: on nothing). Fails as a boot, and kExhausted where the host is
  // full.
  Task<void> boot(LayerId below, std::vector<DiskMount> mounts);
  // Boots one that commands run in. The builder fills in its id and its disk limit.
  Task<void> boot(BootSpec spec);
  const std::shared_ptr<LiveSandbox>& live() const { return live_; }
  const SandboxId& id() const { return id_; }
  // Removes it with its disk. It is to be called in any case, by whoever cannot be cancelled.
  Task<void> destroy();

 private:
  const RuntimeHost& host_;
  const TenantId tenant_;
  const std::uint64_t most_bytes_;
  const SandboxId id_;
  bool begun_ = false;
  std::shared_ptr<LiveSandbox> live_;
  Grant room_;
};

}  // namespace cay::core
