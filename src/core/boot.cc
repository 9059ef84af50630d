#include "core/boot.h"

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <charconv>

#include "base/ascii.h"
#include "base/assert.h"
#include "core/errors.h"
#include "core/proxies.h"
#include "core/registry.h"
#include "core/volume_use.h"
#include "core/workdir.h"

namespace cay::core {
namespace {

constexpr std::size_t kMaxHostname = 63;  // HOST_NAME_MAX is 64; a DNS label has 63

// A host name has small letters, digits and inner '-': what else a name may have becomes one of
// them.
std::string hostname_of(const std::string& name) {
  std::string out = name.substr(0, kMaxHostname);
  for (char& c : out) {
    if (c == '.' || c == '_') c = '-';
    c = lower(c);
  }
  const auto first = out.find_first_not_of('-');
  if (first == std::string::npos) return "sandbox";
  return out.substr(first, out.find_last_not_of('-') - first + 1);
}

Error boot_timeout(const std::string& name) {
  return {
      Code::kDeadlineExceeded, "boot_timeout",
      "sandbox '" + name + "' did not start in the time allowed: allow more, or see `cay doctor`",
      0};
}

// Returns whether a failed wake leaves the sandbox as good as it was.
bool is_passing(const Error& why) {
  return why.code == Code::kExhausted || why.code == Code::kUnavailable ||
         why.code == Code::kCancelled || why.reason == "boot_timeout";
}

// As one word of InFlight's.
std::string word_of(const Limits& limits) {
  return std::to_string(limits.memory_bytes) + ":" + std::to_string(limits.cpu_millicores);
}

bool same_room(const Limits& one, const Limits& other) {
  return one.memory_bytes == other.memory_bytes && one.cpu_millicores == other.cpu_millicores;
}

bool is_first(BootKind kind) { return kind == BootKind::kFirst || kind == BootKind::kEphemeral; }

}  // namespace

Result<BootSpec> boot_spec_of(Registry& registry, const Sandbox& row, const Limits& limits) {
  BootSpec spec;
  spec.id = row.id;
  spec.hostname = hostname_of(row.name);
  spec.layer = layer_of(row);
  spec.limits = limits;
  spec.run = row.run;
  spec.record_programs = row.record_programs;
  spec.profile = row.profile;
  spec.tmpfs = row.tmpfs;
  spec.read_only_paths = row.read_only_paths;
  spec.hidden_paths = row.hidden_paths;
  spec.policy = row.policy;
  spec.rules = row.rules;
  CAY_TRY(spec.mounts, disk_mounts(registry.store().volumes(), row));
  return spec;
}

Boots::Boots(std::shared_ptr<Registry> registry, Proxies& proxies, Profiles profiles, Jobs& jobs)
    : registry_(std::move(registry)),
      proxies_(proxies),
      profiles_(std::move(profiles)),
      jobs_(jobs),
      begun_(registry_->store(), "creating"),
      fresh_disks_(registry_->store(), "fresh_disk"),
      in_force_(registry_->store(), "limits_in_force") {}

Result<std::map<SandboxId, std::string>> Boots::open(const std::vector<Sandbox>& rows) {
  CAY_TRY(const auto kept, in_force_.open());
  for (const auto& [id, word] : kept) {
    if (std::ranges::none_of(rows, [&](const Sandbox& row) { return row.id == id; })) forget(id);
  }
  CAY_TRY(const auto fresh, fresh_disks_.open());
  for (const auto& [id, layer] : fresh) {
    // The row is written second. Without it nothing was changed.
    if (std::ranges::none_of(
            rows, [&](const Sandbox& row) { return row.id == id && layer_of(row).get() == layer; }))
      has_its_disk(id);
  }
  return begun_.open();
}

Result<void> Boots::renew_disk(const SandboxId& id, const LayerId& layer) {
  CAY_CHECK(fresh_disks_.over(id));
  return fresh_disks_.begin(id, layer.get());
}

void Boots::has_its_disk(const SandboxId& id) {
  const auto told = fresh_disks_.over(id);
  if (!told) jobs_.warn("a rollback that is over is still on record: " + told.error().message);
}

Result<std::shared_ptr<Boot>> Boots::begin(std::shared_ptr<Entry> entry, BootKind kind,
                                           Event::Deadline deadline, const std::string& by) {
  if (jobs_.closing) return shutting_down();
  if (jobs_.draining) return host_draining();
  CAY_CHECK(entry->check_runtime());
  CAY_ASSERT(!entry->boot && !entry->stopping && !entry->removing());
  if (!is_first(kind)) {
    CAY_CHECK(check_writers(*registry_, entry->row));
    CAY_CHECK(profiles_.check_allowed(entry->row.profile));
    Sandbox next = entry->row;
    next.state = SandboxState::kProvisioning;
    next.reason.clear();
    CAY_CHECK(registry_->save(*entry, std::move(next), by));
  }
  if (kind == BootKind::kFirst) {
    CAY_CHECK(begun_.begin(entry->row.id, ""));
  }
  auto boot = std::make_shared<Boot>(jobs_.loop(), kind, entry->row.limits);
  entry->boot = boot;
  ++under_way_;
  jobs_.spawn(job(std::move(entry), boot, deadline));
  return boot;
}

void Boots::over(const SandboxId& creation) {
  const auto told = begun_.over(creation);
  if (!told) jobs_.warn("a creation that is over is still on record: " + told.error().message);
}

Result<void> Boots::keep_in_force(const Entry& entry, const Limits& next) {
  if (!entry.room || same_room(entry.given, next)) return {};
  auto kept = in_force_.begin(entry.row.id, word_of(entry.given));
  if (!kept) forget(entry.row.id);  // or a second try would take it for written
  return kept;
}

Limits Boots::in_force(const Sandbox& row) const {
  Limits out = row.limits;
  const std::string word = in_force_.why(row.id);
  const auto colon = word.find(':');
  if (colon == std::string::npos) return out;
  std::from_chars(word.data(), word.data() + colon, out.memory_bytes);
  std::from_chars(word.data() + colon + 1, word.data() + word.size(), out.cpu_millicores);
  return out;
}

void Boots::forget(const SandboxId& gone) {
  const auto told = in_force_.over(gone);
  if (!told)
    jobs_.warn("limits of a sandbox that is gone are still on record: " + told.error().message);
}

asio::awaitable<void> Boots::end(Event::Deadline deadline) {
  const auto entries = registry_->entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto boot = entries[i]->boot;
    if (!boot) continue;
    const bool over = co_await boot->done.wait_until(deadline);
    if (!over) boot->give_up(shutting_down());
  }
}

std::optional<Error> Boots::waits_for(const Entry& entry) const {
  if (!entry.boot || entry.boot->in_runtime) return std::nullopt;
  return entry.host->admission.obstacle(entry.boot->limits);
}

Task<void> Boots::job(std::shared_ptr<Entry> entry, std::shared_ptr<Boot> boot,
                      Event::Deadline deadline) {
  auto turn = co_await entry->turn.lock();
  asio::steady_timer timer(jobs_.loop(), deadline);
  timer.async_wait(
      [weak = std::weak_ptr<Boot>(boot), name = entry->row.name](boost::system::error_code error) {
        const auto late = weak.lock();
        // Until the boot is admitted, the queue keeps the deadline, and reports what is exhausted.
        if (!error && late && late->in_runtime) late->give_up(boot_timeout(name));
      });
  const bool took_spare = entry->spare.has_value();
  auto got = co_await guarded_attempt(entry, boot, deadline);
  const bool is_dead = entry->death || (!got && got.error().code == Code::kLost);
  if (took_spare && is_dead && !boot->cancelled)
    got = co_await boot_in_place_of_spare(entry, boot, deadline);
  timer.cancel();
  if (got && !boot->cancelled && entry->death) {
    got = Error{Code::kLost, "sandbox_died", "it ended while it started: " + *entry->death, 0};
  }
  Result<void> result;
  if (boot->cancelled) {
    result = *boot->cancelled;
  } else if (!got) {
    result = std::move(got).error();
  } else {
    result = succeed(*entry, *std::move(got));
  }
  const bool goes_on =
      !result && boot->kind == BootKind::kFirst && result.error().reason == kShuttingDown;
  if (!result) {
    co_await clean(entry, boot, result.error());
  }
  if (boot->kind == BootKind::kFirst && !goes_on) over(entry->row.id);
  entry->boot.reset();
  --under_way_;
  boot->result = std::move(result);
  boot->done.set();
  co_return Result<void>();
}

// Cancellation and foreign exceptions become errors here, so that the job can clean up after them.
Task<std::shared_ptr<LiveSandbox>> Boots::guarded_attempt(std::shared_ptr<Entry> entry,
                                                          std::shared_ptr<Boot> boot,
                                                          Event::Deadline deadline) {
  if (boot->cancelled) co_return *boot->cancelled;
  try {
    auto work = attempt(entry, boot, deadline);
    auto token = asio::bind_cancellation_slot(boot->cancel.slot(), asio::use_awaitable);
    auto got = co_await asio::co_spawn(jobs_.loop(), std::move(work), std::move(token));
    co_return got;
  } catch (const boost::system::system_error& fault) {
    co_return Error{Code::kCancelled, "boot_cancelled",
                    std::string("the start was given up: ") + fault.what(), 0};
  } catch (const std::exception& fault) {
    co_return Error{Code::kInternal, "boot_failed",
                    std::string("the start failed unforeseen: ") + fault.what(), 0};
  }
}

// The sandbox that was booted ahead has died. Nothing of its tenant ran in it, so the tenant loses
// nothing by another one.
Task<std::shared_ptr<LiveSandbox>> Boots::boot_in_place_of_spare(std::shared_ptr<Entry> entry,
                                                                 std::shared_ptr<Boot> boot,
                                                                 Event::Deadline deadline) {
  CAY_CO_CHECK(co_await entry->host->runtime.destroy(entry->row.id));
  entry->room.reset();
  boot->in_runtime = false;
  auto got = co_await guarded_attempt(std::move(entry), std::move(boot), deadline);
  co_return got;
}

Task<std::shared_ptr<LiveSandbox>> Boots::attempt(std::shared_ptr<Entry> entry,
                                                  std::shared_ptr<Boot> boot,
                                                  Event::Deadline deadline) {
  Admission& admission = entry->host->admission;
  const auto order =
      is_first(boot->kind) ? Admission::Order::kInTurn : Admission::Order::kBeforeNew;
  CAY_CO_TRY(auto room, co_await admission.room(entry->row.tenant, boot->limits, order, deadline));
  entry->room = std::move(room);
  entry->given = boot->limits;
  CAY_CO_CHECK(in_force_.over(entry->row.id));  // of an earlier life
  CAY_CO_CHECK(keep_in_force(*entry, entry->row.limits));
  auto spare = std::exchange(entry->spare, std::nullopt);
  Grant place;
  if (!spare) {
    CAY_CO_TRY(place, co_await admission.place(deadline));
    entry->death.reset();  // an earlier report was of an earlier life; a spare has had none
  }
  boot->in_runtime = true;
  if (std::chrono::steady_clock::now() >= deadline) co_return boot_timeout(entry->row.name);
  CAY_CO_TRY(BootSpec spec, boot_spec_of(*registry_, entry->row, boot->limits));
  if (is_first(boot->kind)) spec.disk_of = entry->disk_of;
  spec.fresh_disk = !fresh_disks_.why(entry->row.id).empty();
  // A sandbox that ran before still starts, even if its host lost a module since.
  spec.network_required = entry->network_required && is_first(boot->kind);
  Granted granted;
  auto proxy = entry->row.proxy;
  if (!proxy.empty()) {
    CAY_CO_TRY(granted, co_await proxies_.grant(entry->row.id, entry->row.tenant, proxy));
  }
  policy::Choice told{entry->row.policy, entry->row.rules};
  spec.policy = told.policy;
  spec.rules = told.rules;
  Result<std::shared_ptr<LiveSandbox>> live;
  if (spare) {
    told = {spare->policy, ""};
    live = std::move(spare->live);
  } else {
    live = co_await entry->host->runtime.boot(std::move(spec));
  }
  if (!live) co_return live;
  has_its_disk(entry->row.id);
  CAY_CO_CHECK(co_await SandboxTrust::put(*live, std::move(granted.certificate)));
  while (proxy != entry->row.proxy) {  // they were changed meanwhile, in what was not up yet
    proxy = entry->row.proxy;
    CAY_CO_TRY(granted, co_await proxies_.grant(entry->row.id, entry->row.tenant, proxy));
    CAY_CO_CHECK(co_await SandboxTrust::put(*live, std::move(granted.certificate)));
  }
  CAY_CO_CHECK(co_await go_by_the_row(entry, std::move(told)));
  auto made = co_await make_workdir(*live, entry->row.run);
  // A sandbox that ran before starts all the same. Its commands then fail with bad_cwd.
  if (!made && is_first(boot->kind)) co_return std::move(made).error();
  co_return live;
}

// The runtime received each change of the policy at once, and the boot may have overwritten it. A
// sandbox without the policy of its row does not come up.
Task<void> Boots::go_by_the_row(std::shared_ptr<Entry> entry, policy::Choice told) {
  while (told.policy != entry->row.policy || told.rules != entry->row.rules) {
    told = {entry->row.policy, entry->row.rules};
    CAY_CO_CHECK(co_await entry->host->runtime.set_policy(entry->row.id, told.policy, told.rules));
  }
  co_return Result<void>();
}

Result<void> Boots::succeed(Entry& entry, std::shared_ptr<LiveSandbox> live) {
  registry_->touch(entry);
  Sandbox next = entry.row;
  next.state = SandboxState::kReady;
  next.reason.clear();
  next.network = live->network().value_or(SandboxNetwork{});
  Registry::note_start(next);
  CAY_CHECK(registry_->save(entry, std::move(next)));
  entry.live = std::move(live);
  return {};
}

asio::awaitable<void> Boots::clean(std::shared_ptr<Entry> entry, std::shared_ptr<Boot> boot,
                                   Error why) {
  const bool never_ran = is_first(boot->kind);
  entry->spare.reset();
  // That may take as long as a launcher that hangs: meanwhile the row does not look as if it were
  // still coming up.
  if (!entry->removal) {
    Sandbox unmade = entry->row;
    unmade.reason = why.message + "; what was made of it is being ended";
    registry_->record(*entry, std::move(unmade));
  }
  Result<void> cleaned;
  if (never_ran) {
    cleaned = co_await entry->host->runtime.destroy(entry->row.id);
  } else {
    cleaned = co_await entry->host->runtime.stop(entry->row.id);
  }
  entry->room.reset();
  if (entry->removal) co_return;  // the removal waits for its turn and does the rest
  Sandbox next = entry->row;
  if (!cleaned && boot->kind == BootKind::kEphemeral) {
    // It cannot be left behind, and cannot be removed now: the timers go on trying.
    next.state = SandboxState::kDeleting;
    next.reason = "could not be removed: " + cleaned.error().message;
    registry_->record(*entry, std::move(next));
    co_return;
  }
  if (boot->kind == BootKind::kEphemeral) {
    const auto erased = registry_->erase(*entry);
    if (erased) co_return;
    next.state = SandboxState::kDeleting;
    next.reason = "could not be removed: " + erased.error().message;
    registry_->record(*entry, std::move(next));
    co_return;
  }
  const bool ends =
      why.reason == kShuttingDown;  // the daemon ended; the sandbox is as good as it was
  if (ends && never_ran) {
    next.reason.clear();
    registry_->record(*entry, std::move(next));
    co_return;  // the next one makes it
  }
  if (boot->kind == BootKind::kWake && is_passing(why)) {
    next.state = SandboxState::kStopped;
  } else if (boot->kind == BootKind::kStart && (ends || why.reason == "stopped_while_starting")) {
    next.state = SandboxState::kStopped;
  } else {
    next.state = SandboxState::kFailed;
    next.reason = why.message;
  }
  if (!next.stopped_at) registry_->note_stop(next);
  registry_->record(*entry, std::move(next));
}

}  // namespace cay::core
