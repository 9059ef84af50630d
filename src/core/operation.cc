// The core's figures for an operator, and whether it can do its work.
#include <map>

#include "core/core.h"

namespace cay::core {
namespace {

constexpr std::chrono::seconds kStoreCheckEvery{1};  // probes come often, and a check is a write

}  // namespace

void Core::measure() {
  sandboxes_.metrics = &metrics_;
  sandboxes_.tracer = &tracer_;
  pool_.metrics = &metrics_;
  command_log_.on_started = [this](const Entry&, const Command&) {
    metrics_.count("cay_commands_started_total", "Commands that started.");
  };
  command_log_.on_ended = [this](const Entry& entry, const Command& command,
                                 const OpenCommand& open) {
    tracer_.command_ended(command, open, entry.row.name);
    metrics_.count("cay_commands_ended_total", "Commands that ended, by how.",
                   {{"state", std::string(to_string(command.end.state))}});
  };
  metrics_.on_read([this](Metrics& now) {
    std::map<std::string, int> states;
    for (const char* state : {"provisioning", "ready", "paused", "stopped", "failed", "deleting"})
      states[state] = 0;
    for (const auto& entry : registry_->entries())
      ++states[std::string(to_string(entry->row.state))];
    for (const auto& [state, count] : states)
      now.gauge("cay_sandboxes", "Sandboxes, by state.", {{"state", state}}, count);
    Admission::Waiting waiting;
    for (const Admission& room : runtimes_.rooms()) {
      const auto one = room.waiting();
      waiting.for_slot += one.for_slot;
      waiting.for_room += one.for_room;
      waiting.for_place += one.for_place;
    }
    const char* help = "Creations and starts that wait, by what for.";
    now.gauge("cay_queue_length", help, {{"for", "sandbox_limit"}},
              static_cast<double>(waiting.for_slot));
    now.gauge("cay_queue_length", help, {{"for", "host_room"}},
              static_cast<double>(waiting.for_room));
    now.gauge("cay_queue_length", help, {{"for", "boot"}}, static_cast<double>(waiting.for_place));
    if (const WarmPool::Status pool = pool_.status(); pool.most != 0) {
      now.gauge("cay_pool_spares", "Sandboxes that are booted and wait for a creation.", {},
                pool.spares);
      now.gauge("cay_pool_most", "The most that the pool may keep.", {}, pool.most);
      const char* takes = "Creations that a spare could serve, by whether there was one.";
      now.counter("cay_pool_takes_total", takes, {{"outcome", "spare"}},
                  static_cast<double>(pool.taken));
      now.counter("cay_pool_takes_total", takes, {{"outcome", "boot"}},
                  static_cast<double>(pool.missed));
    }
    now.gauge("cay_answer_bytes", "Bytes of answers that are being made, or not read yet.", {},
              static_cast<double>(answers_.held()));
    const RuntimeHealth health = runtimes_.first().runtime.health();
    now.gauge("cay_launcher_up", "Whether the launcher is connected.", {},
              health.reachable ? 1 : 0);
    now.gauge("cay_gate_up", "Whether the gate, the way out of sandboxes, serves.", {},
              health.gate_serves ? 1 : 0);
    now.gauge("cay_vault_up", "Whether the broker, which keeps secrets, serves.", {},
              health.broker_serves ? 1 : 0);
    now.counter("cay_launcher_restarts_total", "Times the launcher had to be connected again.", {},
                static_cast<double>(health.reconnects));
    now.counter("cay_store_errors_total", "Calls of the store that failed.", {},
                static_cast<double>(registry_->store().failures()));
  });
}

Task<std::vector<Feature>> Core::features() {
  std::vector<Feature> all;
  for (const RuntimeHost& host : runtimes_.all()) {
    auto found = co_await host.runtime.features();
    const bool is_first = &host == &runtimes_.first();
    if (!found && is_first) co_return std::move(found).error();
    if (!found) {
      Feature gone;
      gone.name = "runtime " + host.name;
      gone.found = found.error().message;
      gone.fallback = "its sandboxes cannot be reached";
      all.push_back(std::move(gone));
      continue;
    }
    for (Feature& one : *found) {
      if (!is_first) one.name = host.name + ": " + one.name;
      all.push_back(std::move(one));
    }
  }
  if (default_image_.is_set()) all.push_back(default_image_.feature());
  if (const WarmPool::Status pool = pool_.status(); pool.most != 0) {
    Feature warm;
    warm.name = "pool";
    warm.ok = true;
    warm.found = std::to_string(pool.spares) + " of at most " + std::to_string(pool.most) +
                 " sandboxes are booted ahead; " + std::to_string(pool.taken) +
                 " creations took one, " + std::to_string(pool.missed) + " found none";
    all.push_back(std::move(warm));
  }
  co_return std::move(all);
}

std::vector<Cay::Check> Core::readiness() {
  std::vector<Check> out;
  for (const RuntimeHost& host : runtimes_.all()) {
    const bool is_first = &host == &runtimes_.first();
    const std::string maker = is_first ? "launcher" : "runtime " + host.name;
    const bool up = host.runtime.health().reachable;
    out.push_back({maker, up,
                   up ? ""
                      : "the " + maker +
                            " is not connected: sandboxes that run go on, none can be made or "
                            "ended"});
  }
  const auto now = std::chrono::steady_clock::now();
  if (!store_check_ || now - store_checked_ >= kStoreCheckEvery) {
    const auto written = registry_->store().check();
    store_check_ = Check{"store", written.has_value(), written ? "" : written.error().message};
    store_checked_ = now;
  }
  out.push_back(*store_check_);
  bool found = false;
  if (const auto snapshots = registry_->store().snapshots().all()) {
    for (const auto& snapshot : *snapshots)
      found = found || (snapshot.origin == kFromHost && snapshot.status == kSnapshotReady);
  }
  std::string why =
      found ? "" : "the default snapshot is not ready: restart the daemon, and see its log";
  if (default_image_.failure())
    why = "the default snapshot could not be pulled, and is tried again: " +
          default_image_.failure()->message;
  out.push_back({"default_snapshot", why.empty(), why});
  out.push_back({"admitting", !jobs_.draining,
                 jobs_.draining ? "draining: the operator empties this host, nothing new begins on "
                                  "it until `cay drain --undo`"
                                : ""});
  out.push_back({"serving", !jobs_.closing, jobs_.closing ? "the daemon is ending" : ""});
  return out;
}

}  // namespace cay::core
