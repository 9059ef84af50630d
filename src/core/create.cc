// create: a transaction. It yields a usable sandbox or leaves nothing: no row, process, mount or
// file.
#include "core/capable.h"
#include "core/errors.h"
#include "core/sandboxes.h"
#include "core/validate.h"
#include "core/volume_use.h"
#include "model/sandbox_settings.h"

namespace cay::core {
namespace {

constexpr std::size_t kNameDigits = 8;
constexpr int kNameTries = 8;

// Each form in which a spec gives a setting of a sandbox.
template <class T>
void take_setting(T& given, T& setting) {
  setting = std::move(given);
}
// `given` has a value: the default replaced a missing one.
template <class T>
void take_setting(const std::optional<T>& given, T& setting) {
  setting = *given;
}
// `given` names a profile: check() refuses other names.
void take_setting(const std::string& given, Profile& setting) {
  setting = profile_from(given).value_or(Profile::kStrict);
}

// A sandbox that is booted already, if a boot of this row would make just such a one.
std::optional<Spare> spare_for(WarmPool& pool, Registry& registry, const Sandbox& row,
                               bool named_policy) {
  if (!row.proxy.empty()) return std::nullopt;
  auto wanted = boot_spec_of(registry, row, row.limits);
  if (!wanted) return std::nullopt;  // the boot fails with the reason
  wanted->network_required = named_policy;
  return pool.take(*wanted, [&](const std::string& name) {
    const auto holder = registry.store().by_name(row.tenant, name);
    return holder && !*holder;
  });
}

// Gives the boot up when the waiting caller goes away, by cancellation or by an exception.
class Abandon {
 public:
  explicit Abandon(std::shared_ptr<Boot> boot) : boot_(std::move(boot)) {}
  Abandon(const Abandon&) = delete;
  Abandon& operator=(const Abandon&) = delete;
  ~Abandon() {
    if (boot_) boot_->give_up({Code::kCancelled, "caller_gone", "the caller went away", 0});
  }
  void dismiss() { boot_.reset(); }

 private:
  std::shared_ptr<Boot> boot_;
};

}  // namespace

Task<Sandbox> SandboxVerbs::create(Principal who, SandboxSpec asked, CreateOptions options) {
  const auto begin = std::chrono::steady_clock::now();
  const bool waits = options.wait_for_ready;
  auto span = tracer != nullptr ? tracer->begin(who, "sandbox create") : std::nullopt;
  const bool is_operator = who.is_operator();
  const TenantId tenant = who.tenant;
  const std::string source = asked.snapshot;
  auto made = co_await make(std::move(who), std::move(asked), options);
  if (!made && is_operator) {
    const auto snapshot = snapshots_.find(tenant, source);
    const auto host = snapshot ? host_of(*snapshot) : snapshot.error();
    if (host) made = (*host)->admission.for_operator(std::move(made).error());
  }
  if (span) {
    if (made)
      span->attributes = {{"cay.sandbox.id", made->id.get()}, {"cay.sandbox.name", made->name}};
    tracer->end(std::move(span), made ? nullptr : &made.error());
  }
  if (metrics != nullptr) {
    metrics->count("cay_sandbox_creates_total", "Requested sandboxes, by outcome.",
                   {{"outcome", made ? "ok" : std::string(to_string(made.error().code))}});
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    if (made && waits) {
      metrics->observe("cay_sandbox_create_seconds",
                       "Time until a requested sandbox was ready, queueing included.", {},
                       took.count());
    }
  }
  co_return made;
}

Task<Sandbox> SandboxVerbs::make(Principal who, SandboxSpec asked, CreateOptions options) {
  if (jobs_.closing) co_return shutting_down();
  if (jobs_.draining) co_return host_draining();
  const bool named_policy = !asked.policy.empty();
  const bool may_be_spare = asked.name.empty() && asked.id.get().empty();
  // Before the checks: the snapshot has defaults of its own.
  CAY_CO_TRY(const SnapshotInfo snapshot, co_await source_of(who, asked, options));
  const auto hold = layers_.hold(snapshot.layer);
  asked.run = layered(snapshot.config.run, asked.run);
  if (asked.limits.disk_bytes == 0) asked.limits.disk_bytes = snapshot.disk_bytes;
  CAY_CO_TRY(SandboxSpec spec, checked(std::move(asked), defaults_));
  CAY_CO_TRY(spec.proxy, proxies_.checked(who.tenant, std::move(spec.proxy), {}));
  const std::vector<ProxyRule> before = spec.proxy;
  CAY_CO_TRY(const RuntimeHost* const host, host_of(snapshot));
  CAY_CO_CHECK(check_boot(host->runtime.capabilities(), spec, named_policy));
  const bool has_volumes = host == &runtimes_.first() && host->runtime.volumes() != nullptr;
  if (!spec.volumes.empty() && !has_volumes) {
    co_return Error{Code::kUnsupported, "no_volumes",
                    "the runtime " + host->name + " mounts no volumes", 0};
  }
  VolumeStore& volumes = registry_->store().volumes();
  CAY_CO_CHECK(named_volumes(volumes, who.tenant, spec.volumes));
  if (spec.name.empty()) {
    CAY_CO_TRY(spec.name, free_name(who.tenant));
  } else {
    CAY_CO_TRY(const auto taken, registry_->store().by_name(who.tenant, spec.name));
    if (taken) co_return name_in_use(spec.name);  // before queueing; the insert decides
  }
  const auto deadline = deadline_in(options.wait_for_ready ? options.timeout : timing_.boot_limit);
  Grant slot;
  if (options.wait_for_ready) {
    CAY_CO_TRY(slot, co_await runtimes_.slots().slot(who.tenant, deadline));
  } else {
    CAY_CO_TRY(slot, runtimes_.slots().slot_now(who.tenant));
  }
  // Since it queued. From here to the boot nobody else has a turn: a row that nothing starts would
  // hold its name and its slot.
  if (jobs_.closing) co_return shutting_down();
  if (jobs_.draining) co_return host_draining();
  CAY_CO_TRY(spec.proxy, proxies_.checked(who.tenant, std::move(spec.proxy), before));
  CAY_CO_TRY(spec.volumes, named_volumes(volumes, who.tenant, std::move(spec.volumes)));
  Sandbox row = row_of(who, std::move(spec), snapshot);
  CAY_CO_CHECK(check_writers(*registry_, row));
  std::optional<Spare> spare;
  if (may_be_spare && pool_.is_on() && host == &runtimes_.first())
    spare = spare_for(pool_, *registry_, row, named_policy);
  if (spare) {
    row.id = spare->id;
    row.name = spare->name;
  }
  auto inserted = registry_->insert(std::move(row));
  if (!inserted) {
    if (spare) pool_.drop(*std::move(spare));
    co_return std::move(inserted).error();
  }
  const std::shared_ptr<Entry> entry = *std::move(inserted);
  entry->spare = std::move(spare);
  entry->slot = std::move(slot);
  entry->network_required = named_policy;
  const BootKind kind = options.wait_for_ready ? BootKind::kEphemeral : BootKind::kFirst;
  CAY_CO_TRY(auto boot, boots_.begin(entry, kind, deadline));
  if (!options.wait_for_ready) co_return registry_->shown(*entry);

  Abandon abandon(boot);
  const auto at_most = deadline_in(options.timeout + timing_.clean_limit);
  bool done = false;
  try {
    done = co_await boot->done.wait_until(at_most);
  } catch (const boost::system::system_error&) {
    // The caller left when the boot had just ended, and its answer reaches nobody.
    if (boot->done.is_set() && boot->result)
      jobs_.spawn(lifecycle_.remove(entry, {}, who.key_name));
    throw;
  }
  if (!done) {
    co_return Error{Code::kDeadlineExceeded, "boot_timeout",
                    "sandbox '" + entry->row.name +
                        "' did not start in the time allowed, and is still being removed",
                    0};
  }
  abandon.dismiss();
  if (!boot->result) co_return boot->result.error();
  co_return registry_->shown(*entry);
}

void SandboxVerbs::expect_usual() {
  const auto snapshot = snapshots_.find(TenantId(), "");
  auto spec = checked(SandboxSpec{}, defaults_);
  if (!snapshot || !spec) return;  // the first creation reports it
  if (snapshot->disk_bytes != 0) spec->limits.disk_bytes = snapshot->disk_bytes;
  const Sandbox row = row_of(Principal{}, *std::move(spec), *snapshot);
  if (const auto wanted = boot_spec_of(*registry_, row, row.limits)) pool_.expect(*wanted);
}

Task<SnapshotInfo> SandboxVerbs::source_of(Principal who, SandboxSpec asked,
                                           CreateOptions options) {
  if (asked.image.empty()) co_return snapshots_.find(who.tenant, asked.snapshot);
  if (!asked.snapshot.empty())
    co_return invalid("invalid_snapshot",
                      "a sandbox starts from a snapshot or from an image: name "
                      "one of the two");
  // A misspelt request pulls nothing.
  CAY_CO_CHECK(checked(asked, defaults_));
  const auto deadline = deadline_in(options.timeout);
  auto found = co_await snapshots_.ensure_image(std::move(who), std::move(asked.image), deadline);
  co_return found;
}

Result<const RuntimeHost*> SandboxVerbs::host_of(const SnapshotInfo& snapshot) const {
  if (const RuntimeHost* host = runtimes_.find(snapshot.runtime)) return host;
  return runtime_not_configured("snapshot '" + snapshot.name + "'", snapshot.runtime);
}

Result<std::string> SandboxVerbs::free_name(const TenantId& tenant) {
  for (int i = 0; i < kNameTries; ++i) {
    std::string name = "sb-" + new_uuid().substr(0, kNameDigits);
    CAY_TRY(const auto taken, registry_->store().by_name(tenant, name));
    if (!taken) return name;
  }
  return Error{Code::kUnavailable, "no_free_name", "no free name was found: give one", 0};
}

Sandbox SandboxVerbs::row_of(const Principal& who, SandboxSpec spec,
                             const SnapshotInfo& snapshot) const {
  Sandbox row;
  row.id = spec.id.get().empty() ? SandboxId(new_uuid()) : spec.id;
  row.tenant = who.tenant;
  row.name = std::move(spec.name);
  row.state = SandboxState::kProvisioning;
  row.snapshot_name = snapshot.name;
  row.snapshot_id = snapshot.id;
  row.layer = snapshot.layer;
  row.runtime = snapshot.runtime;
  row.labels = std::move(spec.labels);
  row.limits = spec.limits;
  row.run = std::move(spec.run);
  row.policy = std::move(spec.policy);
  row.rules = std::move(spec.rules);
  row.proxy = std::move(spec.proxy);
  visit_settings_of_both(
      spec, row, [](const Setting&, auto& given, auto& setting) { take_setting(given, setting); });
  row.created_at = registry_->clock().wall();
  row.updated_at = row.created_at;
  row.last_active_at = row.created_at;
  row.marks.created = registry_->time().now();
  row.marks.active = row.marks.created;
  row.created_by = who.key_name;
  row.claim = std::move(spec.claim);
  row.notes = std::move(spec.notes);
  return row;
}

}  // namespace cay::core
