#include "core/layer_tree.h"

#include <algorithm>

#include "core/ports/layers.h"

namespace cay::core {
namespace {

// Limits of the layers that builds alone need.
constexpr UnixMillis kKeptForBuilds = std::int64_t{7} * 24 * 3600 * 1000;
constexpr std::uint64_t kMostForBuilds = 10ull << 30;

}  // namespace

Result<Layers*> LayerTree::layers() const {
  Runtime& runtime = runtimes_.first().runtime;
  Layers* const found = runtime.layers();
  const Capabilities can = runtime.capabilities();
  if (found != nullptr && can.layers.available()) return found;
  return Error{Code::kUnsupported, "no_layers",
               can.layers.missing.empty()
                   ? "this host's disks cannot be sealed into layers: run cay doctor"
                   : can.layers.missing,
               0};
}

Result<Layers*> LayerTree::layers_of(const Entry& entry) const {
  if (entry.host == &runtimes_.first()) return layers();
  return Error{Code::kUnsupported, "no_layers",
               "the disks of the runtime " + entry.row.runtime +
                   " cannot be sealed into layers: sandboxes of the runtime " +
                   runtimes_.first().name + " can be captured, forked and rolled back",
               0};
}

Result<void> LayerTree::load() {
  CAY_TRY(auto kept, registry_->store().snapshots().layers());
  for (auto& row : kept) rows_[row.id] = std::move(row);
  return {};
}

// The list leaves out the trees of the host, which the runtime prepared.
Task<void> LayerTree::open() {
  const auto role = layers();
  if (!role) co_return Result<void>();
  auto listing = (*role)->list();
  auto found = co_await std::move(listing);
  if (!found && found.error().code == Code::kUnsupported) co_return Result<void>();
  if (!found) co_return std::move(found).error().while_doing("list layers");
  std::set<LayerId> whole;
  for (const Layer& one : *found) {
    whole.insert(one.id);
    LayerRow row;  // without a row: collected below
    row.id = one.id;
    if (!one.below.empty()) row.below = one.below.front();
    row.bytes = one.bytes;
    rows_.try_emplace(one.id, std::move(row));
  }
  CAY_CO_TRY(const auto all, registry_->store().snapshots().all());
  for (const SnapshotInfo& one : all) {
    if (one.origin != kFromHost || one.runtime != runtimes_.first().name) continue;
    whole.insert(one.layer);
    LayerRow row;
    row.id = one.layer;
    row.bytes = one.used_bytes;
    rows_.try_emplace(one.layer, std::move(row));
  }
  CAY_CO_CHECK(fail_broken(whole));
  collect();
  co_return Result<void>();
}

// A snapshot that was being built when the last daemon ended is failed too.
Result<void> LayerTree::fail_broken(const std::set<LayerId>& whole) {
  CAY_TRY(auto all, registry_->store().snapshots().all());
  for (SnapshotInfo& one : all) {
    const bool is_host = one.origin == kFromHost;  // prepared by the runtime, at each start
    if (is_host || one.status == kSnapshotFailed) continue;
    std::string why;
    if (one.status == kSnapshotBuilding || one.status == kSnapshotDeleting) {
      why = one.origin == kFromRegistry
                ? "the daemon was restarted: pull it again, what was fetched is kept"
                : "the daemon was restarted while it was made: make it again";
    } else if (!std::ranges::all_of(stack(one.layer),
                                    [&](const LayerId& id) { return whole.contains(id); }) ||
               !whole.contains(one.layer)) {
      why = "a layer of it is gone from the disk: make it again";
    } else {
      continue;
    }
    one.status = kSnapshotFailed;
    one.status_message = std::move(why);
    one.updated_at = registry_->clock().wall();
    CAY_CHECK(registry_->store().snapshots().put(one));
  }
  std::vector<LayerId> gone;
  for (const auto& [id, row] : rows_) {
    if (!whole.contains(id)) gone.push_back(id);
  }
  for (const LayerId& id : gone) {
    CAY_CHECK(registry_->store().snapshots().erase_layer(id));
    rows_.erase(id);
  }
  return {};
}

std::optional<LayerId> LayerTree::with_content(const std::string& chain) const {
  const auto found =
      std::ranges::find_if(rows_, [&](const auto& one) { return one.second.chain == chain; });
  if (chain.empty() || found == rows_.end()) return std::nullopt;
  return found->first;
}

Result<void> LayerTree::put(LayerRow row) {
  CAY_CHECK(registry_->store().snapshots().put_layer(row));
  rows_[row.id] = std::move(row);
  return {};
}

Result<void> LayerTree::forget(const LayerId& id) {
  CAY_CHECK(registry_->store().snapshots().erase_layer(id));
  rows_.erase(id);
  return {};
}

std::vector<LayerId> LayerTree::stack(const LayerId& top) const {
  std::vector<LayerId> out;
  for (auto at = rows_.find(top); at != rows_.end() && out.size() <= rows_.size();
       at = rows_.find(at->second.below))
    out.push_back(at->first);
  return out;
}

std::uint64_t LayerTree::bytes_of(const LayerId& top) const {
  std::uint64_t sum = 0;
  for (const LayerId& id : stack(top)) sum += rows_.at(id).bytes;
  return sum;
}

Grant LayerTree::hold(const LayerId& id) {
  ++state_->held[id];
  return Grant([state = state_, id] {
    if (--state->held[id] == 0) state->held.erase(id);
  });
}

Result<std::set<LayerId>> LayerTree::needed() const {
  std::set<LayerId> out;
  const auto add = [&](const LayerId& top) {
    for (LayerId& id : stack(top)) out.insert(std::move(id));
  };
  CAY_TRY(const auto all, registry_->store().snapshots().all());
  for (const SnapshotInfo& one : all) {
    if (one.status != kSnapshotDeleting) add(one.layer);
  }
  for (const auto& entry : registry_->entries()) add(layer_of(entry->row));
  for (const auto& [id, count] : state_->held) add(id);
  add_of_builds(out);
  return out;
}

// The ones that were used last.
void LayerTree::add_of_builds(std::set<LayerId>& needed) const {
  const UnixMillis oldest = registry_->clock().wall() - kKeptForBuilds;
  std::vector<const LayerRow*> kept;
  for (const auto& [id, row] : rows_) {
    if (row.used_at > oldest && row.used_at > 0 && !needed.contains(id)) kept.push_back(&row);
  }
  std::ranges::sort(kept, [](const LayerRow* a, const LayerRow* b) {
    return std::tuple(-a->used_at, a->id) < std::tuple(-b->used_at, b->id);
  });
  std::uint64_t bytes = 0;
  for (const LayerRow* row : kept) {
    std::vector<LayerId> more;
    std::uint64_t with = bytes;
    for (LayerId& id : stack(row->id)) {
      if (needed.contains(id)) continue;
      with += rows_.at(id).bytes;
      more.push_back(std::move(id));
    }
    if (with > kMostForBuilds) continue;
    bytes = with;
    needed.insert(more.begin(), more.end());
  }
}

void LayerTree::collect() {
  state_->again = true;
  if (state_->collecting || jobs_.closing || !layers()) return;
  state_->collecting = true;
  jobs_.spawn(collect_job());
}

// A layer's row goes first, so that nobody begins to use it while it is being removed. A daemon
// that ends in between finds a layer without a row, and removes it.
Task<void> LayerTree::collect_job() {
  const Grant over([state = state_] { state->collecting = false; });
  std::set<LayerId> kept;  // that could not be removed
  while (std::exchange(state_->again, false)) {
    for (;;) {
      if (jobs_.closing) co_return Result<void>();
      CAY_CO_TRY(const auto wanted, needed());
      std::set<LayerId> below;
      for (const auto& [id, row] : rows_) below.insert(row.below);
      const auto next = std::ranges::find_if(rows_, [&](const auto& one) {
        const LayerId& id = one.first;
        return !wanted.contains(id) && !below.contains(id) && !kept.contains(id);
      });
      if (next == rows_.end()) break;
      const LayerRow row = next->second;
      CAY_CO_CHECK(registry_->store().snapshots().erase_layer(row.id));
      rows_.erase(row.id);
      CAY_CO_TRY(Layers* const role, layers());
      auto removing = role->remove(row.id);
      const auto removed = co_await std::move(removing);
      if (removed) {
        CAY_CO_CHECK(erase_retired(row.id));
        continue;
      }
      kept.insert(row.id);
      rows_.try_emplace(row.id, row);
      if (removed.error().reason != "layer_in_use")
        jobs_.warn("layer " + row.id.get() + " stays: " + removed.error().message);
    }
  }
  co_return Result<void>();
}

Result<void> LayerTree::use(const LayerId& id) {
  const auto found = rows_.find(id);
  if (found == rows_.end()) return {};
  LayerRow row = found->second;
  row.used_at = registry_->clock().wall();
  CAY_CHECK(put(row));
  for (auto& [other, twin] : rows_) {
    if (other == id || twin.chain.empty() || twin.chain != row.chain) continue;
    LayerRow superseded = twin;
    superseded.chain.clear();
    superseded.used_at = 0;
    CAY_CHECK(registry_->store().snapshots().put_layer(superseded));
    twin = std::move(superseded);
  }
  return {};
}

bool LayerTree::carries_another(const LayerId& id) const {
  return std::ranges::any_of(rows_, [&](const auto& one) { return one.second.below == id; });
}

// The row of a snapshot of the host goes after its tree: nobody else knows of the tree.
Result<void> LayerTree::erase_retired(const LayerId& gone) {
  CAY_TRY(const auto all, registry_->store().snapshots().all());
  for (const SnapshotInfo& one : all) {
    if (one.layer != gone || one.status != kSnapshotDeleting) continue;
    CAY_CHECK(registry_->store().snapshots().erase(one.id));
  }
  return {};
}

void LayerTree::measure(std::vector<SnapshotInfo>& all) const {
  std::map<LayerId, int> users;
  for (const SnapshotInfo& one : all) {
    for (const LayerId& id : stack(one.layer)) ++users[id];
  }
  for (SnapshotInfo& one : all) {
    const auto layers = stack(one.layer);
    if (one.origin == kFromHost || layers.empty()) {
      one.own_bytes = one.used_bytes;
      continue;
    }
    one.used_bytes = 0;
    one.own_bytes = 0;
    for (const LayerId& id : layers) {
      const std::uint64_t bytes = rows_.at(id).bytes;
      one.used_bytes += bytes;
      if (users[id] == 1) one.own_bytes += bytes;
    }
  }
}

}  // namespace cay::core
