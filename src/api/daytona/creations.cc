#include "api/daytona/creations.h"

#include <iterator>

namespace cay::api::daytona {
namespace {

constexpr UnixMillis kKeptFor = 30LL * 60 * 1000;

bool is_under_way(const Creation& creation) {
  return creation.over_at == 0 && !creation.removed && creation.state != Creation::State::kMade;
}

// A key of one sandbox has nothing to do with one that does not exist yet.
bool may_see(const Principal& who, const Creation& creation) {
  return creation.tenant == who.tenant && (!who.only || *who.only == creation.id);
}

}  // namespace

std::shared_ptr<Creation> Creations::find(const Principal& who, const std::string& ref) const {
  for (const auto& [id, creation] : all_) {
    if (!may_see(who, *creation) || creation->removed) continue;
    if (id.get() == ref) return creation;
    if (!creation->spec.name.empty() && creation->spec.name == ref && is_under_way(*creation))
      return creation;
  }
  return nullptr;
}

std::shared_ptr<Creation> Creations::claimed(const Principal& who, const std::string& claim) const {
  if (claim.empty()) return nullptr;
  for (const auto& [id, creation] : all_) {
    if (may_see(who, *creation) && is_under_way(*creation) && creation->spec.claim == claim)
      return creation;
  }
  return nullptr;
}

std::vector<std::shared_ptr<Creation>> Creations::list(const Principal& who) const {
  std::vector<std::shared_ptr<Creation>> out;
  for (const auto& [id, creation] : all_) {
    if (may_see(who, *creation) && !creation->removed) out.push_back(creation);
  }
  return out;
}

void Creations::add(std::shared_ptr<Creation> creation) {
  forget_old();
  const SandboxId id = creation->id;
  all_[id] = std::move(creation);
}

void Creations::forget_old() {
  const UnixMillis now = system_clock().wall();
  for (auto at = all_.begin(); at != all_.end();) {
    const auto& creation = *at->second;
    const bool old = creation.over_at != 0 && creation.over_at + kKeptFor < now;
    at = old ? all_.erase(at) : std::next(at);
  }
}

Sandbox row_of(const Creation& creation) {
  Sandbox out;
  out.id = creation.id;
  out.tenant = creation.tenant;
  out.name = creation.spec.name.empty() ? creation.id.get() : creation.spec.name;
  out.state = creation.over_at == 0 ? SandboxState::kProvisioning : SandboxState::kFailed;
  out.reason = creation.error;
  out.labels = creation.spec.labels;
  out.limits = creation.spec.limits;
  out.run = creation.spec.run;
  out.idle_ttl_s = creation.spec.idle_ttl_s.value_or(0);
  out.delete_after_stop_s = creation.spec.delete_after_stop_s.value_or(0);
  out.lifetime_s = creation.spec.lifetime_s;
  out.volumes = creation.spec.volumes;
  out.notes = creation.spec.notes;
  out.created_at = creation.created_at;
  out.updated_at = creation.created_at;
  out.last_active_at = creation.created_at;
  return out;
}

std::string_view state_text(const Creation& creation) {
  switch (creation.state) {
    case Creation::State::kPending: return "pending_build";
    case Creation::State::kBuilding: return "building_snapshot";
    case Creation::State::kCreating:
    case Creation::State::kMade: return "creating";
    case Creation::State::kBuildFailed: return "build_failed";
    case Creation::State::kFailed: return "error";
  }
  return "unknown";
}

}  // namespace cay::api::daytona
