#include "core/core.h"

#include <algorithm>

#include "core/errors.h"

namespace cay::core {
namespace {

// The name of the host's own snapshot where `default` is another one.
constexpr const char* kHostsName = "host";

// An eighth of the host's memory, and room enough for one of the largest for each of two tenants.
std::uint64_t most_of_answers(const CoreConfig& config) {
  constexpr std::uint64_t kLeast = 256ull << 20;
  const std::uint64_t memory = config.capacity.memory_bytes;
  return memory == 0 ? config.host.answer_bytes
                     : std::min(config.host.answer_bytes, std::max(kLeast, memory / 8));
}

}  // namespace

CoreParts::CoreParts(asio::any_io_executor loop, std::vector<NamedRuntime> runtimes, Store& store,
                     Clock& clock, CoreConfig config)
    : FileParts(wake_, jobs_),
      defaults_(std::move(config.defaults)),
      timing_(config.timing),
      tracer_(clock),
      answers_(most_of_answers(config)),
      runtimes_(loop, std::move(runtimes), config.host, std::move(config.capacity),
                config.timing.overtake_limit),
      registry_(std::make_shared<Registry>(loop, runtimes_, store, clock)),
      jobs_(loop, std::move(config.warn)),
      proxies_(registry_, config.vault, jobs_),
      boots_(registry_, proxies_, defaults_.profiles, jobs_),
      lifecycle_(registry_, jobs_),
      pauses_(registry_, jobs_),
      wake_(registry_, boots_, config.timing),
      timers_(registry_, lifecycle_, jobs_),
      restart_(registry_, runtimes_, boots_, lifecycle_, pauses_, jobs_, timing_.boot_limit,
               std::move(config.init_life)),
      command_log_(registry_, jobs_),
      events_(registry_),
      meter_(registry_, runtimes_, jobs_),
      layers_(registry_, runtimes_, jobs_),
      imports_(registry_, runtimes_, layers_, config.images, jobs_, defaults_),
      captures_(registry_, layers_, pauses_, jobs_),
      pushes_(runtimes_, layers_, imports_, jobs_),
      forks_(registry_, boots_, lifecycle_, pauses_, runtimes_, layers_, jobs_, timing_),
      pool_(registry_, runtimes_, boots_, layers_, jobs_, config.host.pool),
      image_registries_(registry_),
      snapshots_(registry_, layers_, imports_, building_, captures_, pushes_, image_registries_,
                 jobs_, defaults_),
      build_caches_(registry_, runtimes_),
      builds_({registry_, runtimes_, layers_, imports_, snapshots_, config.images, jobs_, defaults_,
               build_caches_, image_registries_},
              building_),
      default_image_(snapshots_, jobs_, std::move(config.default_snapshot)),
      contents_(registry_, runtimes_, layers_, imports_, captures_, snapshots_, jobs_),
      volumes_(registry_, runtimes_, jobs_, defaults_),
      sandboxes_(registry_, boots_, lifecycle_, pauses_, runtimes_, jobs_, proxies_, snapshots_,
                 layers_, forks_, pool_, defaults_, timing_),
      claims_(registry_, boots_, sandboxes_, jobs_, timing_),
      inspection_(registry_, jobs_, proxies_, rule_work_, defaults_),
      policies_(registry_, sandboxes_, jobs_, proxies_, rule_work_, defaults_),
      commands_(wake_, jobs_, command_log_, tracer_),
      contexts_(registry_, commands_, jobs_, events_),
      code_({sandboxes_, inspection_, commands_, files_, jobs_}),
      tunnels_(wake_),
      links_(registry_),
      secrets_(registry_, proxies_, jobs_),
      drain_(registry_, lifecycle_, jobs_) {
  snapshots_.use_contents(contents_);
}

Core::Core(asio::any_io_executor loop, std::vector<NamedRuntime> runtimes, Store& store,
           Clock& clock, CoreConfig config)
    : CoreParts(std::move(loop), std::move(runtimes), store, clock, std::move(config)) {
  measure();
}

Task<void> Core::open(std::function<void(std::string)> progress) {
  CAY_CO_CHECK(co_await prepare_snapshots(progress));
  CAY_CO_CHECK(command_log_.look_back());
  CAY_CO_CHECK(co_await restart_.run(std::move(progress)));
  CAY_CO_CHECK(co_await open_snapshots());
  CAY_CO_CHECK(co_await volumes_.open());
  registry_->on_state = [this,
                         alive = std::weak_ptr<bool>(alive_)](const std::shared_ptr<Entry>& entry) {
    if (alive.expired()) return;
    command_log_.on_state(entry);
    if (entry && entry->row.state == SandboxState::kFailed) {
      metrics_.count("cay_sandbox_failures_total",
                     "Sandboxes that failed: at their start, or when their keeper was lost.");
    }
    meter_.on_state(entry);
  };
  registry_->last_look = [this](std::shared_ptr<Entry> entry) {
    return meter_.last_look(std::move(entry));
  };
  registry_->on_erased = [this, alive = std::weak_ptr<bool>(alive_)](const SandboxId& id) {
    if (alive.expired()) return;
    links_.forget(id);
    proxies_.revoke(id);
    boots_.forget(id);
    layers_.collect();
  };
  CAY_CO_CHECK(links_.open());
  CAY_CO_CHECK(proxies_.open());
  CAY_CO_CHECK(command_log_.open());
  CAY_CO_CHECK(meter_.open());
  for (const RuntimeHost& host : runtimes_.all()) {
    host.runtime.watch([this, alive = std::weak_ptr<bool>(alive_)](SandboxDeath death) {
      if (!alive.expired() && !pool_.died(death)) lifecycle_.died(death);
    });
  }
  registry_->on_change = [this, alive = std::weak_ptr<bool>(alive_)] {
    if (!alive.expired()) timers_.poke();
  };
  registry_->on_idle = [this, alive = std::weak_ptr<bool>(alive_)](const Entry& entry) {
    if (!alive.expired()) timers_.rests(entry);
  };
  if (default_image_.is_set()) default_image_.begin();
  jobs_.spawn(proxies_.keep_told());
  jobs_.spawn(timers_.run());
  jobs_.spawn(command_log_.run());
  jobs_.spawn(meter_.run());
  open_pool();
  co_return Result<void>();
}

void Core::open_pool() {
  if (pool_.status().most == 0) return;
  snapshots_.on_removed = [this] { pool_.review(); };
  drain_.on_set = [this] { pool_.review(); };
  sandboxes_.expect_usual();
  jobs_.spawn(pool_.run());
}

// A runtime beside the first has its snapshot under its own name.
Task<void> Core::prepare_snapshots(std::function<void(std::string)> progress) {
  SnapshotStore& kept = registry_->store().snapshots();
  prepared_.clear();
  for (const RuntimeHost& host : runtimes_.all()) {
    const bool is_first = &host == &runtimes_.first();
    auto prepared = co_await host.runtime.prepare_default_snapshot(progress);
    if (!prepared && !is_first)
      co_return std::move(prepared).error().while_doing("runtime " + host.name);
    CAY_CO_TRY(SnapshotInfo snapshot, std::move(prepared));
    snapshot.runtime = host.name;
    if (!is_first) snapshot.name = host.name;
    if (is_first && default_image_.is_set()) snapshot.name = kHostsName;
    if (snapshot.layer.get().empty()) snapshot.layer = LayerId(snapshot.id.get());
    snapshot.updated_at = snapshot.created_at;
    CAY_CO_CHECK(kept.put_tagged(snapshot, std::string(kLatestTag)));
    prepared_.push_back(snapshot.id);
    if (!is_first) continue;
    if (!default_image_.is_set()) snapshots_.use_default({snapshot.id, std::nullopt});
    LayerRow row;
    row.id = snapshot.layer;
    row.bytes = snapshot.used_bytes;
    row.created_at = snapshot.created_at;
    if (layers_.layers()) {
      CAY_CO_CHECK(kept.put_layer(row));
    }
  }
  co_return Result<void>();
}

// Once the sandboxes are known, which need their layers.
Task<void> Core::open_snapshots() {
  CAY_CO_CHECK(layers_.load());
  CAY_CO_CHECK(snapshots_.retire_old_defaults(prepared_));
  auto opening = layers_.open();
  auto opened = co_await std::move(opening);
  co_return opened;
}

void Core::part() {
  for (const RuntimeHost& host : runtimes_.all()) host.runtime.part();
}

Task<void> Core::close(bool stop_sandboxes) {
  jobs_.closing = true;
  timers_.stop();
  pool_.stop();
  command_log_.stop();
  meter_.stop();
  proxies_.stop();
  imports_.stop();
  builds_.stop();
  pushes_.stop();
  default_image_.stop();
  contents_.stop();
  events_.end();
  file_watches_.stop();
  const auto deadline = deadline_in(timing_.close_limit);
  co_await boots_.end(std::min(deadline, deadline_in(timing_.last_boots)));
  auto idle = co_await jobs_.wait_idle(deadline);
  Result<void> done;
  if (stop_sandboxes && idle) {
    done = co_await drain_.stop_everything();
    idle = co_await jobs_.wait_idle(deadline);
  }
  for (const auto& entry : registry_->entries()) {
    entry->row.last_active_at = entry->last_active;
    entry->row.marks.active = entry->active_mark;
    registry_->rewrite(*entry);
    entry->live.reset();  // lets the keepers go; they live on
  }
  auto told = registry_->store().flush_events();
  if (done && !told) done = std::move(told);
  auto metered = meter_.close();
  if (done && !metered) done = std::move(metered);
  if (!idle) {
    co_return Error{Code::kDeadlineExceeded, "close_timeout",
                    "work was still under way when the daemon ended", 0};
  }
  co_return done;
}

std::unique_ptr<Cay> make_core(asio::any_io_executor loop, Runtime& runtime, Store& store,
                               Clock& clock, CoreConfig config) {
  return make_core(std::move(loop), {{std::string(kNativeRuntime), runtime}}, store, clock,
                   std::move(config));
}

std::unique_ptr<Cay> make_core(asio::any_io_executor loop, std::vector<NamedRuntime> runtimes,
                               Store& store, Clock& clock, CoreConfig config) {
  return std::make_unique<Core>(std::move(loop), std::move(runtimes), store, clock,
                                std::move(config));
}

}  // namespace cay::core
