#include "core/sandboxes.h"

#include "core/capable.h"
#include "core/errors.h"
#include "core/guest_paths.h"
#include "core/validate.h"
#include "core/workdir.h"
#include "model/sandbox_settings.h"

namespace cay::core {

Task<Sandbox> SandboxVerbs::get(Principal who, std::string ref) {
  CAY_CO_TRY(const auto entry, registry_->find(who, ref));
  co_return registry_->shown(*entry);
}

Result<TenantId> SandboxVerbs::tenant_of(const SandboxId& id) {
  const auto entry = registry_->by_id(id);
  if (!entry || entry->erased) return sandbox_not_found(id.get());
  return entry->row.tenant;
}

Task<SandboxPage> SandboxVerbs::list(Principal who, SandboxQuery query) {
  CAY_CO_TRY(SandboxPage page, registry_->store().list(who.tenant, query));
  for (auto& row : page.items) {
    if (const auto entry = registry_->by_id(row.id)) row = registry_->shown(*entry);
  }
  co_return page;
}

namespace {

// The rules of a row are those that its sandbox runs with.
Result<void> may_change_paths(const Entry& entry, const Sandbox& next) {
  if (!entry.rests() || entry.boot || entry.stopping) {
    return Error{Code::kConflict, "paths_need_a_stop",
                 "sandbox '" + entry.row.name +
                     "' runs, and its read-only and hidden paths are mounted at a start: stop it "
                     "first",
                 0};
  }
  CAY_CHECK(entry.check_runtime());
  CAY_CHECK(check_paths(entry));
  return check_path_rules(
      {next.read_only_paths, next.hidden_paths, next.tmpfs, next.volumes, next.profile});
}

}  // namespace

Task<Sandbox> SandboxVerbs::update(Principal who, std::string ref, SandboxPatch patch) {
  CAY_CO_CHECK(check(patch, defaults_));
  CAY_CO_TRY(const auto entry, registry_->find_served(who, ref));
  if (patch.run && patch.run->workdir && entry->live) {
    const auto live = entry->live;
    auto run = layered(entry->row.run, *patch.run);
    CAY_CO_CHECK(co_await make_workdir(live, std::move(run)));
    if (entry->erased) co_return sandbox_not_found(entry->row.name);
  }
  if (entry->removing()) co_return not_ready(entry->row.name, "it is being deleted");
  Sandbox next = entry->row;
  if (patch.name) next.name = *patch.name;
  if (patch.labels) next.labels = *std::move(patch.labels);
  if (patch.claim) next.claim = *std::move(patch.claim);
  for (auto& [key, value] : patch.notes) {
    if (value) {
      next.notes[key] = *std::move(value);
    } else {
      next.notes.erase(key);
    }
  }
  visit_settings_of_both(patch, next, [](const Setting&, auto& changed, auto& setting) {
    if (changed) setting = *changed;
  });
  if (patch.policy) {
    CAY_CO_TRY(policy::Choice choice, chosen_policy(*patch.policy, defaults_));
    next.policy = std::move(choice.policy);
    next.rules = std::move(choice.rules);
  }
  if (patch.proxy) {
    CAY_CO_TRY(next.proxy,
               proxies_.checked(next.tenant, *std::move(patch.proxy), entry->row.proxy));
  }
  const bool rules_change = next.proxy != entry->row.proxy;
  if (patch.run) next.run = layered(next.run, *patch.run);
  if (patch.cpu_millicores) next.limits.cpu_millicores = *patch.cpu_millicores;
  if (patch.memory_bytes) next.limits.memory_bytes = *patch.memory_bytes;
  if (patch.disk_bytes) next.limits.disk_bytes = *patch.disk_bytes;
  if (patch.read_only_paths || patch.hidden_paths) {
    CAY_CO_CHECK(may_change_paths(*entry, next));
  }
  CAY_CO_CHECK(boots_.keep_in_force(*entry, next.limits));
  CAY_CO_CHECK(registry_->save(*entry, std::move(next), who.key_name));
  if (rules_change) {
    CAY_CO_CHECK(co_await jobs_.finish<void>(proxies_.equip(entry)));
  }
  // The row first, so that the next start after a crash uses the newest policy.
  const bool has_a_way_out =
      entry->boot != nullptr ||
      (entry->live != nullptr && entry->row.network.state == NetworkState::kOn);
  if (patch.policy && has_a_way_out) {
    const Entry::Told next_told{entry->live, entry->row.policy, entry->row.rules};
    entry->told = {};
    CAY_CO_CHECK(
        co_await entry->host->runtime.set_policy(entry->row.id, next_told.policy, next_told.rules));
    if (entry->row.policy == next_told.policy && entry->row.rules == next_told.rules)
      entry->told = next_told;
  }
  co_return registry_->shown(*entry);
}

Task<Sandbox> SandboxVerbs::start(Principal who, std::string ref) {
  CAY_CO_TRY(const auto entry, registry_->find_served(who, ref));
  const auto patience = deadline_in(timing_.wake_wait);
  while (entry->stopping) {
    const bool ended = co_await stop_ends(entry, patience);
    if (!ended) co_return not_ready(entry->row.name, "it is being stopped: try again");
  }
  if (entry->erased) co_return sandbox_not_found(ref);
  if (entry->removing()) co_return not_ready(entry->row.name, "it is being deleted");
  registry_->touch(*entry);
  if (entry->boot) {
    // A client started it by name, while it was waking: its failure is shown.
    if (entry->boot->kind == BootKind::kWake) entry->boot->kind = BootKind::kStart;
  } else if (entry->row.state == SandboxState::kPaused) {
    CAY_CO_CHECK(co_await pauses_.resume(entry));
  } else if (entry->rests()) {
    CAY_CO_CHECK(
        boots_.begin(entry, BootKind::kStart, deadline_in(timing_.boot_limit), who.key_name));
  }
  co_return registry_->shown(*entry);
}

Task<void> SandboxVerbs::stop(Principal who, std::string ref) {
  CAY_CO_TRY(auto entry, registry_->find(who, ref));
  auto stopped = co_await lifecycle_.stop(std::move(entry));
  co_return stopped;
}

Task<Sandbox> SandboxVerbs::pause(Principal who, std::string ref) {
  CAY_CO_TRY(const auto entry, registry_->find_served(who, ref));
  CAY_CO_CHECK(co_await pauses_.pause(entry));
  co_return registry_->shown(*entry);
}

Task<Sandbox> SandboxVerbs::resume(Principal who, std::string ref) {
  CAY_CO_TRY(const auto entry, registry_->find_served(who, ref));
  CAY_CO_CHECK(co_await pauses_.resume(entry));
  co_return registry_->shown(*entry);
}

Task<void> SandboxVerbs::remove(Principal who, std::string ref) {
  CAY_CO_TRY(auto entry, registry_->find(who, ref));
  auto removed = co_await lifecycle_.remove(std::move(entry), {}, std::move(who.key_name));
  co_return removed;
}

Task<std::vector<Sandbox>> SandboxVerbs::fork(Principal who, std::string ref, ForkRequest request) {
  CAY_CO_TRY(auto entry, registry_->find_served(who, ref));
  auto made = co_await forks_.fork(std::move(who), std::move(entry), std::move(request));
  co_return made;
}

Task<Sandbox> SandboxVerbs::rollback(Principal who, std::string ref, std::string snapshot) {
  CAY_CO_TRY(auto entry, registry_->find_served(who, ref));
  std::optional<SnapshotInfo> to;
  if (!snapshot.empty()) {
    CAY_CO_TRY(to, snapshots_.find(who.tenant, snapshot));
  }
  auto back = co_await forks_.rollback(std::move(who), std::move(entry), std::move(to));
  co_return back;
}

}  // namespace cay::core
