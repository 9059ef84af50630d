#include "core/restart.h"

#include <algorithm>
#include <map>

#include "async/deadline.h"
#include "core/removal_reason.h"
#include "core/workdir.h"

namespace cay::core {
namespace {

constexpr const char* kBootId = "boot_id";      // of the host when a daemon last started
constexpr const char* kInitLife = "init_life";  // CoreConfig's then
// Callers wait no longer than this for keepers that have not answered whether they are paused, and
// for ends that are not over.
constexpr Millis kSilenceLimit{300};
constexpr LifeMillis kGrace = 60'000;  // for clients to come back after a restart before idle stops

// The key of a fact about the host that a runtime is on.
std::string key_of(const std::string& fact, const RuntimeHost& host) {
  return host.name == kNativeRuntime ? fact : fact + ":" + host.name;
}

// Sends its keeper a polite request, over the connection that `live` keeps.
Task<void> with_line(std::shared_ptr<LiveSandbox> live, Task<void> work) {
  auto done = co_await std::move(work);
  live.reset();
  co_return done;
}

Error store_is_new(const std::vector<SandboxId>& disks) {
  return {Code::kConflict, "store_is_new",
          "the store (state.db) is new, and " + std::to_string(disks.size()) +
              " sandboxes' disks are here (" + disks.front().get() +
              (disks.size() > 1 ? ", …" : "") +
              "): put the state.db that they belong to back, or restore a backup into another "
              "directory; to begin anew for good, without them: cay uninstall --purge --data DIR",
          0};
}

}  // namespace

// Adopts what lives in `host`, and compares it with the last daemon's. `is_new`: no daemon has ever
// begun on this store. Then disks that are here belong to another store, which is lost, and stay.
Task<Restart::Found> Restart::look_at(const RuntimeHost& host, bool is_new,
                                      std::vector<SandboxId> known) {
  Runtime& runtime = host.runtime;
  CAY_CO_TRY(const auto booted, registry_->store().get_meta(key_of(kBootId, host)));
  if (!booted && is_new) {
    CAY_CO_TRY(const auto strangers, co_await runtime.with_disk());
    if (!strangers.empty()) co_return store_is_new(strangers);
  }
  Found out;
  out.host_restarted = booted && *booted != runtime.host_boot_id();
  CAY_CO_TRY(auto adopted, co_await runtime.adopt(std::move(known)));
  CAY_CO_TRY(const auto init_then, registry_->store().get_meta(kInitLife));
  const bool init_ended = init_then && !init_life_.empty() && *init_then != init_life_;
  // One that lives shows that this daemon alone was put into another namespace.
  out.ended_together = out.host_restarted || (init_ended && adopted.empty());
  for (auto& [id, live] : adopted) out.alive[id] = std::move(live);
  if (out.host_restarted) {
    CAY_CO_TRY(const auto disks, co_await runtime.with_disk());
    out.disks.insert(disks.begin(), disks.end());
  }
  co_return std::move(out);
}

Task<void> Restart::run(std::function<void(std::string)> progress) {
  CAY_CO_TRY(auto rows, registry_->store().all());
  std::vector<SandboxId> known;
  LifeMillis latest = 0;
  for (const auto& row : rows) {
    known.push_back(row.id);
    latest = std::max({latest, row.marks.created, row.marks.active, row.marks.stopped.value_or(0)});
  }
  CAY_CO_CHECK(registry_->time().open(latest));
  CAY_CO_TRY(stopping_, lifecycle_.stops_in_flight().open());
  CAY_CO_TRY(creating_, boots_.open(rows));
  const bool is_new = rows.empty();
  for (const RuntimeHost& host : runtimes_.all()) {
    CAY_CO_TRY(found_[host.name], co_await look_at(host, is_new, known));
  }
  std::vector<std::shared_ptr<Entry>> entries;
  for (const auto& [id, why] : stopping_) {
    const bool is_row = std::ranges::any_of(rows, [&](const Sandbox& row) { return row.id == id; });
    if (!is_row) {
      CAY_CO_CHECK(lifecycle_.stops_in_flight().over(id));
    }
  }
  for (const auto& [id, why] : creating_) {
    const bool is_made = std::ranges::none_of(rows, [&](const Sandbox& row) {
      return row.id == id && row.state == SandboxState::kProvisioning;
    });
    if (is_made) boots_.over(id);
  }
  for (auto& row : rows) {
    auto entry = registry_->load(std::move(row));
    entry->slot = runtimes_.slots().slot_of_existing(entry->row.tenant);
    entries.push_back(std::move(entry));
  }
  CAY_CO_CHECK(pauses_.open());
  std::set<std::string> missing;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto entry = entries[i];
    if (entry->host == nullptr) {  // the row stays as it is, until its runtime is back
      missing.insert(entry->row.runtime);
      continue;
    }
    auto live = std::exchange(found_[entry->row.runtime].alive[entry->row.id], nullptr);
    settle(entry, std::move(live));
  }
  for (const std::string& name : missing)
    jobs_.warn("sandboxes of the runtime " + name + " cannot be reached: it is not configured");
  const auto patience = deadline_in(kSilenceLimit);
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    const auto outcome = asked_[i];
    const bool over = co_await outcome->done.wait_until(patience);
    if (over && !outcome->result) jobs_.warn(outcome->result.error().message);
  }
  asked_.clear();
  CAY_CO_CHECK(co_await destroy_unowned());
  // Last: until every row is settled, a daemon that is killed here must find the same difference.
  CAY_CO_CHECK(note_hosts());
  if (progress && !entries.empty()) {
    const auto lives = std::count_if(entries.begin(), entries.end(),
                                     [](const auto& entry) { return entry->live != nullptr; });
    progress("adopted " + std::to_string(lives) + " running of " + std::to_string(entries.size()) +
             " sandboxes");
  }
  co_return Result<void>();
}

// Destroys sandboxes that live and have no row, all at once. One whose row names another runtime
// stays.
Task<void> Restart::destroy_unowned() {
  std::vector<std::pair<SandboxId, std::shared_ptr<Outcome<void>>>> ends;
  for (const RuntimeHost& host : runtimes_.all()) {
    for (const auto& [id, live] : found_[host.name].alive) {
      if (!live) continue;
      if (const auto entry = registry_->by_id(id)) {
        jobs_.warn("sandbox " + entry->row.name + " runs in the runtime " + host.name +
                   " and belongs to " + entry->row.runtime + ": it is left alone");
        continue;
      }
      ends.emplace_back(id, jobs_.begin<void>(host.runtime.destroy(id)));
    }
  }
  const auto patience = deadline_in(kSilenceLimit);
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto [id, end] = ends[i];
    const bool over = co_await end->done.wait_until(patience);
    if (over && end->result) continue;
    jobs_.warn("sandbox " + id.get() + " has no row and " +
               (over ? "stays: " + end->result.error().message : "is still being removed"));
  }
  co_return Result<void>();
}

Result<void> Restart::note_hosts() {
  for (const RuntimeHost& host : runtimes_.all()) {
    CAY_CHECK(registry_->store().put_meta(key_of(kBootId, host), host.runtime.host_boot_id()));
  }
  if (init_life_.empty()) return {};
  return registry_->store().put_meta(kInitLife, init_life_);
}

// Begins what takes long under the sandbox's turn: one that does not end holds up neither the
// others nor the start.
void Restart::settle(const std::shared_ptr<Entry>& entry,
                     const std::shared_ptr<LiveSandbox>& live) {
  const auto sweep_up = [&] { asked_.push_back(jobs_.begin<void>(lifecycle_.sweep_up(entry))); };
  const auto remove = [&](std::string_view why) {
    asked_.push_back(jobs_.begin<void>(lifecycle_.remove(entry, why)));
  };
  const Found& found = found_[entry->row.runtime];
  const auto begun = stopping_.find(entry->row.id);
  const bool stopping = begun != stopping_.end();
  // Nothing of it runs, and it did not fail.
  const auto why_rests = [&] {
    return stopping ? begun->second : std::string(found.ended_together ? kStoppedByHost : "");
  };
  if (stopping && !(live && entry->runs())) {
    const auto told = lifecycle_.stops_in_flight().over(entry->row.id);
    if (!told) jobs_.warn("a stop that is over is still on record: " + told.error().message);
  }
  if (!live && lost_its_disk(entry->row, found)) {
    fail(*entry, "the host went down before its disk was written: what was in it is lost");
    return sweep_up();
  }
  switch (entry->row.state) {
    case SandboxState::kReady:
    case SandboxState::kPaused:
      if (live) {
        adopt(entry, live);
        if (stopping) return asked_.push_back(jobs_.begin<void>(lifecycle_.take_up_stop(entry)));
      } else {
        if (found.ended_together || stopping) {
          rest(*entry, why_rests());
        } else {
          fail(*entry, "its keeper was lost while the daemon was away");
        }
        sweep_up();
      }
      break;
    case SandboxState::kProvisioning:
      if (live) {
        adopt(entry, live);
        boots_.over(entry->row.id);
        // The daemon may have ended before this part of its creation.
        asked_.push_back(jobs_.begin<void>(make_workdir(live, entry->row.run)));
      } else if (entry->row.stopped_at) {  // it had run before: its disk is somebody's work, and a
                                           // request wakes it
        rest(*entry, why_rests());
        sweep_up();
      } else if (creating_.contains(entry->row.id) || !entry->row.claim.empty()) {
        // Nobody waits for it: its creator did not either, or comes back by the claim.
        jobs_.spawn(make_anew(entry));
      } else {
        remove(kRemovedNeverCameUp);
      }
      break;
    case SandboxState::kStopped:
    case SandboxState::kFailed:
      // The daemon ended between the action and its record. Callers have seen the record.
      if (live) asked_.push_back(jobs_.begin<void>(with_line(live, lifecycle_.sweep_up(entry))));
      break;
    case SandboxState::kDeleting: remove({}); break;
  }
}

// A host that loses its power may keep the row and forget the disk, which is written later.
bool Restart::lost_its_disk(const Sandbox& row, const Found& found) {
  if (!found.host_restarted || found.disks.contains(row.id)) return false;
  const bool never_ran = row.state == SandboxState::kProvisioning && !row.stopped_at;
  return !never_ran && row.state != SandboxState::kFailed && row.state != SandboxState::kDeleting;
}

void Restart::adopt(const std::shared_ptr<Entry>& entry, const std::shared_ptr<LiveSandbox>& live) {
  entry->live = live;
  boots_.has_its_disk(entry->row.id);
  entry->given = boots_.in_force(entry->row);
  entry->room = entry->host->admission.room_of_existing(entry->row.tenant, entry->given);
  // Readers that the restart cut off shall find it awake. No mark: marks are kept, and none may lie
  // in the future.
  entry->awake_until = registry_->time().now() + kGrace;
  adopted(*entry, entry->row.state == SandboxState::kPaused);
  // The kernel knows whether it is frozen: the daemon may have ended between the action and its
  // record.
  asked_.push_back(jobs_.begin<void>(pauses_.learn(entry, live)));
  if (entry->row.network.state == NetworkState::kOn)
    asked_.push_back(jobs_.begin<void>(renew_policy(entry)));
}

// Its creation was answered: it is made, or its row has the reason why not. One that is made for a
// claim leaves nothing if it fails.
Task<void> Restart::make_anew(std::shared_ptr<Entry> entry) {
  {
    auto turn = co_await entry->turn.lock();
    if (entry->erased || entry->removing()) co_return Result<void>();
    const auto destroyed =
        co_await entry->host->runtime.destroy(entry->row.id);   // what was made of it
    if (!destroyed && jobs_.closing) co_return Result<void>();  // the next daemon tries it
    if (!destroyed && !entry->erased && !entry->removing()) {
      fail(*entry, "its creation was cut short, and what was made of it could not be removed: " +
                       destroyed.error().message);
    }
  }
  if (entry->erased || entry->removing() || entry->boot ||
      entry->row.state != SandboxState::kProvisioning) {
    boots_.over(entry->row.id);
    co_return Result<void>();
  }
  const bool answered = creating_.contains(entry->row.id);
  const BootKind kind = answered ? BootKind::kFirst : BootKind::kEphemeral;
  CAY_CO_TRY(const auto boot, boots_.begin(entry, kind, deadline_in(boot_limit_)));
  co_return Result<void>();
}

// The daemon may have ended between a policy's record and its being gone by.
Task<void> Restart::renew_policy(std::shared_ptr<Entry> entry) {
  const auto told = co_await entry->host->runtime.network(entry->row.id);
  if (told && told->policy == entry->row.policy && told->rules == entry->row.rules)
    co_return Result<void>();
  auto set =
      co_await entry->host->runtime.set_policy(entry->row.id, entry->row.policy, entry->row.rules);
  co_return set;
}

void Restart::adopted(Entry& entry, bool paused) {
  const SandboxState state = paused ? SandboxState::kPaused : SandboxState::kReady;
  const SandboxNetwork network = entry.live->network().value_or(entry.row.network);
  if (entry.row.state == state && entry.row.network == network) return;
  Sandbox next = entry.row;
  next.network = network;
  if (entry.row.state != state) {
    next.state = state;
    next.reason.clear();
    Registry::note_start(next);
  }
  registry_->record(entry, std::move(next));
}

void Restart::rest(Entry& entry, std::string why) {
  entry.ended_unseen = true;
  Sandbox next = entry.row;
  next.state = SandboxState::kStopped;
  next.reason = std::move(why);
  if (!next.stopped_at) registry_->note_stop(next);
  registry_->record(entry, std::move(next));
}

void Restart::fail(Entry& entry, std::string reason) {
  entry.ended_unseen = true;
  Sandbox next = entry.row;
  next.state = SandboxState::kFailed;
  next.reason = std::move(reason);
  if (!next.stopped_at) registry_->note_stop(next);
  registry_->record(entry, std::move(next));
}

}  // namespace cay::core
