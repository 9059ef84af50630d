#include "core/warm_pool.h"

#include <algorithm>

#include "async/deadline.h"

namespace cay::core {
namespace {

// No boot begins so soon after a creation, a command or an evaluation: it has the CPUs. A boot
// waits for such a moment for so long. If few spares are left it waits only while creations come in
// numbers.
constexpr Millis kQuiet{20};
constexpr Millis kPatience{1'000};
constexpr std::size_t kCrowd = 4;
constexpr Millis kPoolLookEvery{1'000};  // levels fall, and the host's room changes
constexpr Millis kSpareBootLimit{60'000};
constexpr Millis kAfterFailure{30'000};
constexpr std::size_t kSpareNameDigits = 8;
constexpr const char* kWarmPrefix = "sb-";

// Returns the spec without what differs between spares of one kind.
BootSpec warm_kind_of(BootSpec spec) {
  spec.id = {};
  spec.hostname.clear();
  spec.run = {};  // core adds it to each command
  spec.network_required = false;
  spec.waits_for_use = false;
  return spec;
}

// Whether a boot by this spec depends on nothing but the layer, limits, profile and policy.
bool has_no_specials(const BootSpec& spec) {
  BootSpec plain;
  plain.layer = spec.layer;
  plain.limits = spec.limits;
  plain.profile = spec.profile;
  plain.policy = spec.policy;
  return warm_kind_of(spec) == plain;
}

// Whether the spare has the way out that the request insists on.
bool has_way_out(const Spare& spare) {
  const auto network = spare.live->network();
  return network && network->state != NetworkState::kUnavailable;
}

}  // namespace

WarmPool::WarmPool(std::shared_ptr<Registry> registry, const Runtimes& runtimes, const Boots& boots,
                   LayerTree& layers, Jobs& jobs, std::uint32_t most)
    : registry_(std::move(registry)),
      host_(runtimes.first()),
      boots_(boots),
      layers_(layers),
      jobs_(jobs),
      most_(std::min(most, host_.admission.sandboxes_limit())),
      demand_(most_),
      poked_(std::make_shared<Event>(jobs.loop())) {}

std::optional<Spare> WarmPool::take(const BootSpec& wanted,
                                    const std::function<bool(const std::string&)>& is_free) {
  if (most_ == 0 || stopped_ || !has_no_specials(wanted)) return std::nullopt;
  const BootSpec kind = warm_kind_of(wanted);
  requests_.push_back(std::chrono::steady_clock::now());
  if (requests_.size() > kCrowd) requests_.pop_front();
  demand_.created(kind, registry_->clock().steady());
  if (sleeps_) poked_->notify();
  drop_hung_up(kind);
  const bool fits = !host_.admission.obstacle(wanted.limits);
  const auto found = std::ranges::find_if(kept_, [&](const Kept& one) {
    return fits && one.kind == kind && (!wanted.network_required || has_way_out(one.spare)) &&
           is_free(one.spare.name);
  });
  const bool is_hit = found != kept_.end();
  ++(is_hit ? taken_ : missed_);
  if (!is_hit) return std::nullopt;
  Spare out = std::move(found->spare);
  kept_.erase(found);
  host_.builders->erase(out.id);
  return out;
}

// Their deaths are not reported yet, or never are: those are left that a creation may take next.
void WarmPool::drop_hung_up(const BootSpec& kind) {
  for (;;) {
    const auto next = std::ranges::find(kept_, kind, &Kept::kind);
    if (next == kept_.end() || !next->spare.live->has_hung_up()) return;
    remove(static_cast<std::size_t>(next - kept_.begin()), "died");
  }
}

void WarmPool::drop(Spare spare) {
  Kept kept;
  host_.builders->insert(spare.id);
  kept.spare = std::move(spare);
  remove(std::move(kept), "unused");
}

void WarmPool::expect(const BootSpec& wanted) {
  if (most_ == 0 || !has_no_specials(wanted)) return;
  demand_.expect(warm_kind_of(wanted), registry_->clock().steady());
  poked_->notify();
}

bool WarmPool::died(const SandboxDeath& death) {
  if (const auto booting = booting_.lock(); booting && booting->id == death.id) {
    booting->died = true;
    return true;
  }
  const auto found =
      std::ranges::find_if(kept_, [&](const Kept& one) { return one.spare.id == death.id; });
  if (found == kept_.end()) return false;
  remove(static_cast<std::size_t>(found - kept_.begin()), "died");
  poked_->notify();
  return true;
}

void WarmPool::review() {
  if (!is_on() || stopped_) return;
  for (std::size_t i = kept_.size(); i-- > 0;) {
    if (jobs_.draining) {
      remove(i, "drained");
    } else if (const BootSpec kind = kept_[i].kind; !is_bootable(kind)) {
      demand_.forget(kind);
      remove(i, "snapshot_removed");
    }
  }
  poked_->notify();
}

Task<void> WarmPool::run() {
  const auto poked = poked_;
  while (poked.use_count() > 1 && !stopped_) {  // 1: the pool is gone
    const auto next = look();
    sleeps_ = next > deadline_in(kQuiet);
    co_await poked->wait_until(next);
  }
  co_return Result<void>();
}

void WarmPool::stop() {
  stopped_ = true;
  while (!kept_.empty()) remove(kept_.size() - 1, "daemon_ended");
  poked_->set();
}

WarmPool::Status WarmPool::status() const {
  Status out;
  out.spares = static_cast<std::uint32_t>(kept_.size());
  out.booting = booting_.expired() ? 0 : 1;
  out.most = most_;
  out.taken = taken_;
  out.missed = missed_;
  return out;
}

Event::Deadline WarmPool::look() {
  auto wanted = demand_.wanted(registry_->clock().steady());
  if (jobs_.draining) wanted.clear();
  std::vector<std::uint32_t> missing;
  for (const auto& [kind, level] : wanted) missing.push_back(level);
  for (std::size_t i = 0; i < kept_.size();) {
    const auto of = std::ranges::find(wanted, kept_[i].kind,
                                      [](const auto& one) -> const auto& { return one.first; });
    const auto at = static_cast<std::size_t>(of - wanted.begin());
    if (of != wanted.end() && missing[at] > 0) {
      --missing[at];
      ++i;
    } else {
      remove(i, "idle");
    }
  }
  while (!kept_.empty() && !has_room({})) remove(kept_.size() - 1, "no_room");
  if (!booting_.expired()) return Event::kNever;  // the boot's end looks again
  const auto now = std::chrono::steady_clock::now();
  std::erase_if(failed_, [&](const auto& one) { return one.second <= now; });
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto& [kind, level] = wanted[i];
    const bool is_due = missing[i] > 0 && kept_.size() < most_ && has_room(kind.limits);
    const bool has_failed =
        std::ranges::any_of(failed_, [&](const auto& one) { return one.first == kind; });
    if (is_due && !has_failed) return begin_boot(kind, missing[i] > level / 2);
  }
  lacking_since_ = {};
  return wanted.empty() && kept_.empty() ? Event::kNever : deadline_in(kPoolLookEvery);
}

bool WarmPool::is_quiet() const {
  const auto now = std::chrono::steady_clock::now();
  return (requests_.empty() || now - requests_.back() >= kQuiet) && jobs_.since_caller() >= kQuiet;
}

Event::Deadline WarmPool::begin_boot(const BootSpec& kind, bool is_low) {
  const auto now = std::chrono::steady_clock::now();
  if (lacking_since_ == WarmDemand::Moment()) lacking_since_ = now;
  const bool is_crowd = requests_.size() == kCrowd && now - requests_.front() < kQuiet;
  const bool has_waited = now - lacking_since_ >= kPatience;
  const auto waiting = host_.admission.waiting();
  if (!(is_quiet() || ((is_low || has_waited) && !is_crowd)) || boots_.under_way() > 0 ||
      waiting.for_room + waiting.for_place > 0)
    return deadline_in(kQuiet);
  lacking_since_ = {};
  if (!is_bootable(kind)) {
    demand_.forget(kind);
    return now;
  }
  auto booting = std::make_shared<Booting>();
  booting->id = SandboxId(new_uuid());
  booting_ = booting;
  jobs_.spawn(boot(kind, std::move(booting)));
  return Event::kNever;
}

Task<void> WarmPool::boot(BootSpec kind, std::shared_ptr<Booting> booting) {
  Kept made;
  made.layer = layers_.hold(kind.layer);
  made.spare.id = booting->id;
  made.spare.name = kWarmPrefix + new_uuid().substr(0, kSpareNameDigits);
  made.spare.policy = kind.policy;
  made.kind = kind;
  BootSpec spec = std::move(kind);
  spec.id = made.spare.id;
  spec.hostname = made.spare.name;
  spec.waits_for_use = true;
  host_.builders->insert(made.spare.id);
  auto live = co_await boot_in_place(std::move(spec));
  const bool died = booting->died;
  booting.reset();
  poked_->notify();
  if (metrics != nullptr) {
    metrics->count("cay_pool_boots_total", "Sandboxes that were booted ahead, by outcome.",
                   {{"outcome", live && !died ? "ok" : "failed"}});
  }
  if (!live || died) {
    failed_.emplace_back(made.kind, deadline_in(kAfterFailure));
    remove(std::move(made), "failed");
    if (live) co_return Result<void>();
    co_return std::move(live).error().while_doing("boot a sandbox ahead");
  }
  made.spare.live = *std::move(live);
  if (stopped_ || jobs_.draining || !is_bootable(made.kind)) {
    remove(std::move(made), "unused");
  } else {
    kept_.push_back(std::move(made));
  }
  co_return Result<void>();
}

Task<std::shared_ptr<LiveSandbox>> WarmPool::boot_in_place(BootSpec spec) {
  const auto deadline = deadline_in(kSpareBootLimit);
  CAY_CO_TRY(const auto place, co_await host_.admission.place(deadline));
  auto booting = host_.runtime.boot(std::move(spec));
  auto live = co_await with_deadline(std::move(booting), kSpareBootLimit, "the boot of a spare");
  co_return live;
}

// Room for all spares and one of these limits, beside what runs.
bool WarmPool::has_room(const Limits& more) const {
  Limits sum = more;
  for (const Kept& one : kept_) {
    sum.memory_bytes += one.kind.limits.memory_bytes;
    sum.cpu_millicores += one.kind.limits.cpu_millicores;
  }
  return !host_.admission.obstacle(sum);
}

// Whether a snapshot still has this layer.
bool WarmPool::is_bootable(const BootSpec& kind) const {
  const auto all = registry_->store().snapshots().all();
  return all && std::ranges::any_of(*all, [&](const SnapshotInfo& one) {
           return one.layer == kind.layer && one.status == kSnapshotReady;
         });
}

void WarmPool::remove(std::size_t at, const char* why) {
  Kept gone = std::move(kept_[at]);
  kept_.erase(kept_.begin() + static_cast<std::ptrdiff_t>(at));
  remove(std::move(gone), why);
}

void WarmPool::remove(Kept kept, const char* why) {
  if (metrics != nullptr) {
    metrics->count("cay_pool_removed_total", "Spares that were removed unused, by why.",
                   {{"why", why}});
  }
  kept.spare.live.reset();
  jobs_.spawn(destroy(std::move(kept.spare.id), std::move(kept.layer)));
}

Task<void> WarmPool::destroy(SandboxId id, Grant layer) {
  const auto builders = host_.builders;
  auto destroyed = co_await host_.runtime.destroy(id);
  builders->erase(id);
  layer.reset();
  layers_.collect();
  if (!destroyed) co_return std::move(destroyed).error().while_doing("remove a spare");
  co_return Result<void>();
}

}  // namespace cay::core
