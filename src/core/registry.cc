#include "core/registry.h"

namespace cay::core {
namespace {

constexpr LifeMillis kWriteUseEvery = 30'000;

void free_claim(Sandbox& next) {
  if (next.state == SandboxState::kFailed || next.state == SandboxState::kDeleting)
    next.claim.clear();
}

}  // namespace

Result<std::shared_ptr<Entry>> Registry::find(const Principal& who, const std::string& ref) {
  std::shared_ptr<Entry> entry;
  if (is_uuid(ref)) {
    entry = by_id(SandboxId(ref));
  } else if (is_valid_name(ref)) {
    CAY_TRY(auto row, store_.by_name(who.tenant, ref));
    if (row) entry = by_id(row->id);
  }
  const bool found =
      entry && entry->row.tenant == who.tenant && (!who.only || entry->row.id == *who.only);
  if (!found) return who.only ? not_the_only_one(ref) : sandbox_not_found(ref);
  return entry;
}

Result<std::shared_ptr<Entry>> Registry::find_served(const Principal& who, const std::string& ref) {
  CAY_TRY(auto entry, find(who, ref));
  CAY_CHECK(entry->check_runtime());
  return entry;
}

std::shared_ptr<Entry> Registry::by_id(const SandboxId& id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : found->second;
}

std::vector<std::shared_ptr<Entry>> Registry::entries() const {
  std::vector<std::shared_ptr<Entry>> out;
  out.reserve(entries_.size());
  for (const auto& [id, entry] : entries_) out.push_back(entry);
  return out;
}

Result<std::shared_ptr<Entry>> Registry::insert(Sandbox row) {
  CAY_CHECK(store_.insert(row));
  return load(std::move(row));
}

std::shared_ptr<Entry> Registry::load(Sandbox row) {
  const RuntimeHost* host = runtimes_.find(row.runtime);
  auto entry = std::make_shared<Entry>(loop_, std::move(row), host);
  entry->last_active = entry->row.last_active_at;
  entry->active_mark = entry->row.marks.active;
  entries_[entry->row.id] = entry;
  changed();
  return entry;
}

Result<void> Registry::save(Entry& entry, Sandbox next, const std::string& by) {
  free_claim(next);
  next.updated_at = clock_.wall();
  next.last_active_at = entry.last_active;
  next.marks.active = entry.active_mark;
  CAY_CHECK(store_.update(next, by));
  const SandboxState before = entry.row.state;
  entry.row = std::move(next);
  entry.unsaved = false;
  moved(entry, before);
  changed();
  return {};
}

void Registry::record(Entry& entry, Sandbox next) {
  free_claim(next);
  next.updated_at = clock_.wall();
  next.last_active_at = entry.last_active;
  next.marks.active = entry.active_mark;
  const SandboxState before = entry.row.state;
  entry.row = std::move(next);
  entry.unsaved = true;
  rewrite(entry);
  moved(entry, before);
  changed();
}

void Registry::rewrite(Entry& entry) {
  if (entry.erased) return;
  const auto written = store_.update(entry.row);
  entry.unsaved = !written;
}

Result<void> Registry::erase(Entry& entry) {
  CAY_CHECK(store_.erase(entry.row.id, entry.removed_by));
  entry.erased = true;
  entry.live.reset();
  entry.room.reset();
  entry.slot.reset();
  const SandboxId id = entry.row.id;
  entries_.erase(id);
  if (on_erased) on_erased(id);
  return {};
}

void Registry::touch(Entry& entry) {
  if (entry.erased) return;
  entry.last_active = clock_.wall();
  entry.active_mark = time_.now();
  if (entry.active_mark - entry.row.marks.active < kWriteUseEvery) return;
  entry.row.last_active_at = entry.last_active;
  entry.row.marks.active = entry.active_mark;
  rewrite(entry);
}

void Registry::note_stop(Sandbox& row) const {
  row.stopped_at = clock_.wall();
  row.marks.stopped = time_.now();
}

void Registry::note_start(Sandbox& row) {
  row.stopped_at.reset();
  row.marks.stopped.reset();
}

Sandbox Registry::shown(const Entry& entry) const {
  Sandbox out = entry.row;
  out.last_active_at = entry.last_active;
  if (const auto served = entry.check_runtime(); !served) out.reason = served.error().message;
  return out;
}

Hold::Hold(std::shared_ptr<Registry> registry, std::shared_ptr<Entry> entry)
    : registry_(std::move(registry)), entry_(std::move(entry)) {
  ++entry_->holds;
  registry_->touch(*entry_);
}

Hold& Hold::operator=(Hold&& other) noexcept {
  if (this != &other) {
    release();
    registry_ = std::move(other.registry_);
    entry_ = std::move(other.entry_);
  }
  return *this;
}

void Hold::release() {
  if (!entry_) return;
  --entry_->holds;
  registry_->touch(*entry_);
  if (entry_->holds == 0 && registry_->on_idle) registry_->on_idle(*entry_);
  entry_.reset();
}

}  // namespace cay::core
