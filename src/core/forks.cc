#include "core/forks.h"

#include "core/errors.h"
#include "core/validate.h"
#include "core/volume_use.h"

namespace cay::core {
namespace {

constexpr std::size_t kMostForks = 1000;
constexpr std::size_t kLongestStem = 50;
constexpr std::size_t kForkDigits = 8;

// A name that begins as the source's.
std::string fork_name(const std::string& source) {
  return source.substr(0, kLongestStem) + "-" + new_uuid().substr(0, kForkDigits);
}

Result<void> check_fork(const ForkRequest& request) {
  if (request.names.size() > kMostForks || request.count > kMostForks || request.count == 0)
    return invalid("invalid_count", "1 to 1000 copies are made at once");
  for (const std::string& name : request.names) {
    CAY_CHECK(check_name(name));
  }
  return check_labels(request.labels);
}

}  // namespace

Task<std::vector<Sandbox>> Forks::fork(Principal who, std::shared_ptr<Entry> source,
                                       ForkRequest request) {
  if (jobs_.closing) co_return shutting_down();
  if (jobs_.draining) co_return host_draining();
  CAY_CO_CHECK(check_fork(request));
  CAY_CO_CHECK(layers_.layers_of(*source));
  auto work = fork_job(std::move(who), std::move(source), std::move(request));
  auto made = co_await jobs_.finish<std::vector<Sandbox>>(std::move(work));
  co_return made;
}

Task<std::vector<Sandbox>> Forks::fork_job(Principal who, std::shared_ptr<Entry> source,
                                           ForkRequest request) {
  const auto turn = co_await source->turn.lock();
  if (source->erased) co_return sandbox_not_found(source->row.name);
  if (source->removing()) co_return not_ready(source->row.name, "it is being deleted");
  if (!source->runs() && !source->rests())
    co_return not_ready(source->row.name, "it has no disk yet: wait for its start");
  if (auto full = source->host->admission.obstacle(source->row.limits)) co_return *std::move(full);
  CAY_CO_TRY(const bool held, co_await pauses_.hold_still(source));
  Made made;
  Result<void> done = begin_all(who, *source, request, made);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto boot = made[i].second;
    if (!done) boot->give_up(done.error());
    co_await boot->done.wait();
    if (done && !boot->result) done = boot->result.error();
  }
  if (held) {
    const auto gone = co_await pauses_.let_go(source);
    if (!gone) jobs_.warn(gone.error().message);
  }
  std::vector<Sandbox> out;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const auto entry = made[i].first;
    if (done) {
      out.push_back(registry_->shown(*entry));
    } else if (!entry->erased) {
      const auto removed = co_await lifecycle_.remove(entry, {}, who.key_name);
      if (!removed) jobs_.warn("fork " + entry->row.name + ": " + removed.error().message);
    }
  }
  if (!done) co_return std::move(done).error().while_doing("fork sandbox " + source->row.name);
  co_return std::move(out);
}

Result<void> Forks::begin_all(const Principal& who, const Entry& source, const ForkRequest& request,
                              Made& made) {
  const std::size_t count = request.names.empty() ? request.count : request.names.size();
  const auto deadline = deadline_in(timing_.wake_wait);
  for (std::size_t i = 0; i < count; ++i) {
    CAY_TRY(Grant slot, runtimes_.slots().slot_now(source.row.tenant));
    Sandbox row = row_of(who, source.row, request, i);
    CAY_CHECK(check_writers(*registry_, row));
    CAY_TRY(auto entry, registry_->insert(std::move(row)));
    entry->slot = std::move(slot);
    entry->disk_of = source.row.id;
    CAY_TRY(auto boot, boots_.begin(entry, BootKind::kEphemeral, deadline));
    made.emplace_back(std::move(entry), std::move(boot));
  }
  return {};
}

Sandbox Forks::row_of(const Principal& who, const Sandbox& source, const ForkRequest& request,
                      std::size_t index) const {
  Sandbox row = source;
  row.id = SandboxId(new_uuid());
  row.name = request.names.empty() ? fork_name(source.name) : request.names[index];
  row.state = SandboxState::kProvisioning;
  row.reason.clear();
  row.claim.clear();  // it stays with the source
  row.notes = request.notes;
  row.network = {};
  row.layer = layer_of(source);
  for (const auto& [key, value] : request.labels) row.labels[key] = value;
  row.created_at = registry_->clock().wall();
  row.updated_at = row.created_at;
  row.last_active_at = row.created_at;
  row.stopped_at.reset();
  row.marks = {};
  row.marks.created = registry_->time().now();
  row.marks.active = row.marks.created;
  row.created_by = who.key_name;
  return row;
}

Task<Sandbox> Forks::rollback(Principal who, std::shared_ptr<Entry> entry,
                              std::optional<SnapshotInfo> to) {
  if (jobs_.closing) co_return shutting_down();
  if (jobs_.draining) co_return host_draining();
  CAY_CO_CHECK(layers_.layers_of(*entry));
  const auto hold = layers_.hold(to ? to->layer : layer_of(entry->row));
  if (to && to->runtime != entry->row.runtime) {
    co_return Error{Code::kConflict, "other_runtime",
                    "snapshot '" + to->name + "' belongs to the runtime '" + to->runtime +
                        "', and the sandbox to '" + entry->row.runtime + "'",
                    0};
  }
  CAY_CO_CHECK(co_await lifecycle_.stop(entry));
  auto work = renew(std::move(who), entry, std::move(to));
  CAY_CO_TRY(const auto boot, co_await jobs_.finish<std::shared_ptr<Boot>>(std::move(work)));
  co_await boot->done.wait();
  if (!boot->result) co_return boot->result.error();
  co_return registry_->shown(*entry);
}

// Once this has begun, the next boot finishes it, whoever boots it.
Task<std::shared_ptr<Boot>> Forks::renew(Principal who, std::shared_ptr<Entry> entry,
                                         std::optional<SnapshotInfo> to) {
  const auto turn = co_await entry->turn.lock();
  if (entry->erased) co_return sandbox_not_found(entry->row.name);
  if (entry->removing()) co_return not_ready(entry->row.name, "it is being deleted");
  if (!entry->rests() || entry->boot)
    co_return not_ready(entry->row.name, "it was started meanwhile: try again");
  Sandbox next = entry->row;
  next.layer = layer_of(entry->row);
  if (to) {
    next.layer = to->layer;
    next.snapshot_id = to->id;
    next.snapshot_name = to->name;
  }
  CAY_CO_CHECK(boots_.renew_disk(entry->row.id, next.layer));
  auto saved = registry_->save(*entry, std::move(next), who.key_name);
  if (!saved) {
    boots_.has_its_disk(entry->row.id);
    co_return std::move(saved).error();
  }
  co_return boots_.begin(entry, BootKind::kStart, deadline_in(timing_.boot_limit), who.key_name);
}

}  // namespace cay::core
