#include "launcher/sandbox_bases.h"

#include <algorithm>

#include "launcher/layer_store.h"

namespace cay::launcher {

Result<DiskPlan> SandboxBases::plan_disk(const SandboxState& sandbox) const {
  const wire::CreateSandbox& request = *sandbox.wanted;
  DiskPlan disk;
  disk.id = sandbox.id;
  disk.bytes = request.disk_bytes;
  if (!sandbox.fresh_disk) return disk;
  disk.fresh = host_.disks.exists(sandbox.id);
  if (request.disk_of.empty()) {
    CAY_TRY(const auto stack, stack_on(request.snapshot_id));
    disk.origin.layer = nearest_sealed(host_, stack);
    return disk;
  }
  CAY_CHECK(host_.disks.need_pool());
  const auto source = sandboxes_.find(request.disk_of);
  if (source == sandboxes_.end() || request.disk_of == sandbox.id ||
      !host_.disks.exists(request.disk_of)) {
    return Error{Code::kNotFound, "sandbox_not_found",
                 "there is no sandbox " + request.disk_of + " to copy the disk of", 0};
  }
  const Record& its = source->second->record;
  if (its.snapshot_id != request.snapshot_id) {
    return Error{
        Code::kConflict, "other_snapshot",
        "the disk of sandbox " + request.disk_of + " belongs to snapshot " + its.snapshot_id, 0};
  }
  disk.origin.sandbox = request.disk_of;
  return disk;
}

Result<std::vector<std::string>> SandboxBases::stack_on(const std::string& snapshot_id) const {
  if (snapshot_id.empty()) return std::vector<std::string>();
  return stack_of(host_, snapshot_id);
}

Result<std::vector<std::string>> SandboxBases::stack_below(const std::string& sandbox_id) const {
  const auto found = sandboxes_.find(sandbox_id);
  if (found == sandboxes_.end() || !host_.disks.exists(sandbox_id)) {
    return Error{Code::kNotFound, "sandbox_not_found", "there is no sandbox " + sandbox_id, 0};
  }
  const SandboxState& sandbox = *found->second;
  if (sandbox.phase != SandboxState::Phase::kAlive &&
      sandbox.phase != SandboxState::Phase::kStopped) {
    return Error{Code::kNotReady, "sandbox_busy",
                 "sandbox " + sandbox_id + " is being started or stopped: retry", 0};
  }
  if (sandbox.record.snapshot_id.empty() && !sandbox.record.on_nothing) {
    return Error{Code::kLost, "record_broken",
                 "the record of sandbox " + sandbox_id + " was lost: start it first", 0};
  }
  return stack_on(sandbox.record.snapshot_id);
}

bool SandboxBases::stands_on(const SandboxState& sandbox, const std::string& layer) const {
  const Record& record = sandbox.record;
  if (record.snapshot_id.empty() && !record.on_nothing) return true;  // it is not known
  const auto stack = stack_on(record.snapshot_id);
  if (!stack || std::find(stack->begin(), stack->end(), layer) != stack->end()) return true;
  return sandbox.phase != SandboxState::Phase::kStopped &&
         std::find(record.mounted_layers.begin(), record.mounted_layers.end(), layer) !=
             record.mounted_layers.end();
}

std::size_t SandboxBases::users_of_snapshot(const std::string& snapshot_id) const {
  return static_cast<std::size_t>(
      std::count_if(sandboxes_.begin(), sandboxes_.end(),
                    [&](const auto& item) { return stands_on(*item.second, snapshot_id); }));
}

std::size_t SandboxBases::users_of_volume(const std::string& volume_id) const {
  return static_cast<std::size_t>(
      std::count_if(sandboxes_.begin(), sandboxes_.end(), [&](const auto& item) {
        const auto& mounted = item.second->record.mounted_volumes;
        return item.second->phase != SandboxState::Phase::kStopped &&
               std::find(mounted.begin(), mounted.end(), volume_id) != mounted.end();
      }));
}

}  // namespace cay::launcher
