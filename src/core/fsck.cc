#include "core/fsck.h"

#include <algorithm>

#include "async/deadline.h"
#include "core/ports/store_check.h"

namespace cay::core {
namespace {

constexpr int kMostLooks = 20;
constexpr Millis kBetweenLooks{100};

StoreFinding finding(std::string kind, std::string subject, std::string meaning,
                     std::string remedy) {
  StoreFinding out;
  out.kind = std::move(kind);
  out.subject = std::move(subject);
  out.meaning = std::move(meaning);
  out.remedy = std::move(remedy);
  return out;
}

// Notes the outcome of a repair.
void settle(StoreFinding& one, const Result<void>& repaired) {
  one.repaired = static_cast<bool>(repaired);
  if (!repaired) one.remedy = "it could not be repaired: " + repaired.error().message;
}

}  // namespace

bool Fsck::is_stray(const LayerId& id) const { return !layers_.rows().contains(id); }

bool Fsck::is_stray(const SandboxId& id) const {
  return !registry_->by_id(id) && !runtimes_.first().builders->contains(id);
}

Task<StoreReport> Fsck::check(Repair repair) {
  CAY_CO_TRY(Layers* const role, layers_.layers());
  auto looking = settled(role);
  CAY_CO_TRY(const Look at, co_await std::move(looking));
  StoreReport out;
  out.snapshots = at.snapshots.size();
  out.layers = at.whole.size();
  out.sandboxes = registry_->entries().size();
  CAY_CO_CHECK(check_snapshots(at, repair, out));
  CAY_CO_CHECK(check_rows(at, repair, out));
  CAY_CO_CHECK(co_await check_layers(at, role, repair, out));
  CAY_CO_CHECK(co_await check_disks(at, repair, out));
  if (auto* const files = dynamic_cast<StoreCheck*>(role)) {
    auto checking = files->check(repair == Repair::kYes);
    CAY_CO_TRY(auto more, co_await std::move(checking));
    std::ranges::move(more, std::back_inserter(out.findings));
  }
  co_return std::move(out);
}

Task<Fsck::Look> Fsck::look(Layers* role) {
  Look out;
  auto listing = role->list();
  CAY_CO_TRY(auto all, co_await std::move(listing));
  for (Layer& one : all) {
    out.whole.insert(one.id);
    out.on_disk.emplace(one.id, std::move(one));
  }
  auto disks = runtimes_.first().runtime.with_disk();
  CAY_CO_TRY(out.disks, co_await std::move(disks));
  CAY_CO_TRY(out.snapshots, registry_->store().snapshots().all());
  for (const SnapshotInfo& one : out.snapshots) {
    if (one.origin == kFromHost && one.runtime == runtimes_.first().name)
      out.whole.insert(one.layer);
  }
  co_return std::move(out);
}

bool Fsck::is_unsettled(const Look& now) const {
  const auto needed = layers_.needed();
  return std::ranges::any_of(now.on_disk,
                             [&](const auto& one) {
                               return is_stray(one.first) ||
                                      (needed && !needed->contains(one.first));
                             }) ||
         std::ranges::any_of(now.disks, [&](const SandboxId& id) { return is_stray(id); });
}

Task<Fsck::Look> Fsck::settled(Layers* role) {
  layers_.collect();
  for (int looks = 1;; ++looks) {
    CAY_CO_TRY(Look now, co_await look(role));
    if (looks >= kMostLooks || !is_unsettled(now)) co_return std::move(now);
    co_await sleep_for(kBetweenLooks);
  }
}

Result<void> Fsck::check_snapshots(const Look& at, Repair repair, StoreReport& out) {
  for (const SnapshotInfo& one : at.snapshots) {
    if (one.status != kSnapshotReady || one.origin == kFromHost ||
        one.runtime != runtimes_.first().name)
      continue;
    const auto stack = layers_.stack(one.layer);
    const bool is_whole =
        at.whole.contains(one.layer) &&
        std::ranges::all_of(stack, [&](const LayerId& id) { return at.whole.contains(id); }) &&
        !stack.empty();
    if (is_whole) continue;
    StoreFinding found = finding("snapshot_without_layer", one.id.get(),
                                 "snapshot '" + one.name + "' is ready, and a layer of it is gone",
                                 "repair it, which marks it as failed, and make or pull it again");
    found.can_repair = true;
    if (repair == Repair::kYes) {
      SnapshotInfo failed = one;
      failed.status = kSnapshotFailed;
      failed.status_message = "a layer of it is gone from the disk: make it again";
      failed.updated_at = registry_->clock().wall();
      settle(found, registry_->store().snapshots().put(failed));
    }
    out.findings.push_back(std::move(found));
  }
  for (const auto& entry : registry_->entries()) {
    const LayerId layer = layer_of(entry->row);
    if (entry->row.runtime != runtimes_.first().name || at.whole.contains(layer)) continue;
    out.findings.push_back(finding("sandbox_without_layer", entry->row.id.get(),
                                   "sandbox '" + entry->row.name + "' stands on the layer " +
                                       layer.get() + ", which is gone: it cannot start again",
                                   "copy out what you need while it runs, and delete it"));
  }
  return {};
}

Result<void> Fsck::check_rows(const Look& at, Repair repair, StoreReport& out) {
  CAY_TRY(const auto kept, registry_->store().snapshots().layers());
  for (const LayerRow& row : kept) {
    const auto there = at.on_disk.find(row.id);
    if (there == at.on_disk.end()) {
      if (at.whole.contains(row.id)) continue;
      StoreFinding found = finding("row_without_layer", row.id.get(),
                                   "the database names a layer that is not on the disk",
                                   "repair it, which removes the row");
      found.can_repair = true;
      if (repair == Repair::kYes) settle(found, layers_.forget(row.id));
      out.findings.push_back(std::move(found));
      continue;
    }
    const LayerId below = there->second.below.empty() ? LayerId() : there->second.below.front();
    if (below == row.below) continue;
    out.findings.push_back(
        finding("layer_with_wrong_base", row.id.get(),
                "the database has it on the layer '" + row.below.get() + "', and the disk on '" +
                    below.get() + "'",
                "delete the snapshots that stand on it, and make or pull them again"));
  }
  return {};
}

Task<void> Fsck::check_layers(const Look& at, Layers* role, Repair repair, StoreReport& out) {
  CAY_CO_TRY(const auto needed, layers_.needed());
  for (const auto& [id, layer] : at.on_disk) {
    const bool stray = is_stray(id);
    if (!stray && needed.contains(id)) continue;
    StoreFinding found =
        finding(stray ? "layer_without_row" : "layer_not_needed", id.get(),
                stray ? "a layer that the database does not name"
                      : "a layer that no snapshot and no sandbox stands on was not collected",
                "repair it, which removes the layer");
    found.can_repair = true;
    if (repair == Repair::kYes) {
      auto removing = role->remove(id);
      const auto removed = co_await std::move(removing);
      settle(found, removed);
      if (removed && !stray) settle(found, layers_.forget(id));
    }
    out.findings.push_back(std::move(found));
  }
  co_return Result<void>();
}

Task<void> Fsck::check_disks(const Look& at, Repair repair, StoreReport& out) {
  for (const SandboxId& id : at.disks) {
    if (!is_stray(id)) continue;
    StoreFinding found = finding("stray_disk", id.get(), "the disk of a sandbox that has no row",
                                 "repair it, which removes the disk");
    found.can_repair = true;
    if (repair == Repair::kYes) {
      auto removing = runtimes_.first().runtime.destroy(id);
      const auto removed = co_await std::move(removing);
      settle(found, removed);
    }
    out.findings.push_back(std::move(found));
  }
  co_return Result<void>();
}

}  // namespace cay::core
