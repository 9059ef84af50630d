#include "core/meter.h"

#include <algorithm>

#include "async/deadline.h"
#include "core/errors.h"

namespace cay::core {
namespace {

constexpr Millis kTick{10'000};
constexpr UnixMillis kShortest = 10'000;
constexpr UnixMillis kLongest = 320'000;
constexpr Millis kLookLimit{2'000};
constexpr std::uint64_t kStillCpuUsec = 5'000;  // less than that between two looks is stillness,
constexpr std::uint64_t kStillMemoryBytes = 1 << 20;  // as is a change of memory below that
constexpr double kMib = 1024.0 * 1024.0;

std::uint64_t apart(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : b - a; }

}  // namespace

Meter::Meter(std::shared_ptr<Registry> registry, const Runtimes& runtimes, Jobs& jobs)
    : registry_(std::move(registry)),
      runtimes_(runtimes),
      jobs_(jobs),
      wake_(std::make_shared<Event>(jobs.loop())) {}

Result<void> Meter::open() {
  CAY_TRY(auto rows, registry_->store().usage_rows());
  for (auto& row : rows) {
    const SandboxId id = row.sandbox_id;
    if (!registry_->by_id(id)) {
      CAY_CHECK(registry_->store().retire_usage(id));
      continue;
    }
    readings_[id].row = std::move(row);
    readings_[id].on_record = true;
  }
  for (const auto& entry : registry_->entries()) {
    Reading& reading = reading_of(*entry);
    if (entry->live) {
      // It began to run while nothing was written: its counters began at zero then. One of which
      // nothing is on record runs since its creation.
      if (reading.row.looked_at == 0) {
        reading.row.looked_at = reading.on_record
                                    ? entry->active_mark
                                    : std::max<LifeMillis>(entry->row.marks.created, 1);
      }
      reading.counts_time = entry->row.state == SandboxState::kReady;
      jobs_.spawn(look(entry));
    } else if (entry->host != nullptr && reading.row.looked_at != 0) {
      reading.row.looked_at = 0;  // it ended unseen: its use after the last look is lost
      reading.unwritten = true;
    }
  }
  return {};
}

Task<void> Meter::run() {
  const auto wake = wake_;
  while (!stopped_) {
    co_await wake->wait_until(deadline_in(kTick));
    if (stopped_) break;
    const LifeMillis now = registry_->time().now();
    for (const auto& entry : registry_->entries()) {
      if (due(*entry, now)) jobs_.spawn(look(entry));
    }
    const auto written = write();
    if (!written) jobs_.warn("usage: " + written.error().message);
  }
  co_return Result<void>();
}

void Meter::stop() {
  stopped_ = true;
  wake_->set();
}

Result<void> Meter::close() { return write(); }

bool Meter::due(const Entry& entry, LifeMillis now) {
  if (!entry.live) return false;
  const auto found = readings_.find(entry.row.id);
  if (found == readings_.end()) return true;
  const Reading& reading = found->second;
  const bool used = entry.holds > 0 || entry.active_mark >= reading.row.looked_at;
  return used || now - reading.row.looked_at >= reading.interval || now < reading.row.looked_at;
}

Meter::Reading& Meter::reading_of(const Entry& entry) {
  Reading& reading = readings_[entry.row.id];
  reading.row.sandbox_id = entry.row.id;
  reading.row.tenant = entry.row.tenant;
  if (reading.row.labels != entry.row.labels) {
    reading.row.labels = entry.row.labels;
    reading.unwritten = true;
  }
  return reading;
}

void Meter::take_bytes(Entry& entry, Reading& reading) {
  if (entry.bytes_in == 0 && entry.bytes_out == 0) return;
  reading.row.totals.bytes_in += std::exchange(entry.bytes_in, 0);
  reading.row.totals.bytes_out += std::exchange(entry.bytes_out, 0);
  reading.unwritten = true;
}

// From the last look to now. `memory_bytes`: held now.
void Meter::pass_time(const Entry& entry, Reading& reading, std::uint64_t memory_bytes) {
  const LifeMillis now = registry_->time().now();
  const LifeMillis passed = std::max<LifeMillis>(now - reading.row.looked_at, 0);
  const double mean =
      (static_cast<double>(reading.row.memory_bytes) + static_cast<double>(memory_bytes)) / 2;
  reading.row.totals.memory_mib_ms +=
      static_cast<std::uint64_t>(mean / kMib * static_cast<double>(passed));
  if (reading.counts_time) reading.row.totals.running_ms += static_cast<std::uint64_t>(passed);
  reading.row.memory_bytes = memory_bytes;
  reading.row.looked_at = std::max<LifeMillis>(now, 1);
  reading.counts_time = entry.row.state == SandboxState::kReady;
  reading.unwritten = true;
}

void Meter::add(Entry& entry, Reading& reading, const SandboxStats& stats) {
  // Counters that went back are those of another life, whose beginning was not written.
  const std::uint64_t before = stats.cpu_usec < reading.row.cpu_usec ? 0 : reading.row.cpu_usec;
  const bool still = stats.cpu_usec - before < kStillCpuUsec &&
                     apart(stats.memory_bytes, reading.row.memory_bytes) < kStillMemoryBytes;
  reading.interval = still ? std::clamp(reading.interval * 2, kShortest, kLongest) : kShortest;
  reading.row.totals.cpu_usec += stats.cpu_usec - before;
  reading.row.cpu_usec = stats.cpu_usec;
  pass_time(entry, reading, stats.memory_bytes);
  take_bytes(entry, reading);
}

Task<void> Meter::last_look(std::shared_ptr<Entry> entry) {
  CAY_CO_CHECK(co_await look(std::move(entry)));
  co_return write();
}

Task<SandboxStats> Meter::asked(std::shared_ptr<Entry> entry) {
  const Error gone = not_ready(entry->row.name, "it does not run: " + start_it(entry->row.name));
  const auto live = entry->live;
  if (!live || entry->erased) co_return gone;
  const auto question = ++questions_;
  auto asking = live->stats();
  CAY_CO_TRY(const SandboxStats stats, co_await with_deadline(std::move(asking), kLookLimit,
                                                              "a look at what a sandbox uses"));
  if (entry->erased || entry->live != live) co_return gone;
  Reading& reading = reading_of(*entry);
  if (reading.row.looked_at != 0 && reading.taken < question) {
    reading.taken = question;
    add(*entry, reading, stats);
  }
  co_return stats;
}

Task<void> Meter::look(std::shared_ptr<Entry> entry) {
  auto stats = co_await asked(std::move(entry));
  static_cast<void>(stats);  // the next look adds what this one did not
  co_return Result<void>();
}

Task<SandboxUse> Meter::use_of(std::shared_ptr<Entry> entry) {
  CAY_CO_TRY(const SandboxStats stats, co_await asked(entry));
  co_return SandboxUse{registry_->shown(*entry), stats, reading_of(*entry).row.totals};
}

void Meter::on_state(const std::shared_ptr<Entry>& entry) {
  if (!entry) return;
  Reading& reading = reading_of(*entry);
  const auto begin = [&] {
    reading.row.cpu_usec = 0;
    reading.row.memory_bytes = 0;
    reading.row.looked_at = std::max<LifeMillis>(registry_->time().now(), 1);
    reading.interval = kShortest;
    reading.taken = ++questions_;  // answers about the life before are of no use
  };
  const auto end = [&] {
    take_bytes(*entry, reading);
    if (reading.row.looked_at != 0) pass_time(*entry, reading, reading.row.memory_bytes);
    reading.row.looked_at = 0;
    reading.counts_time = false;
  };
  const std::string state(to_string(entry->row.state));
  if (state == "ready") {
    if (reading.row.looked_at == 0)
      begin();  // else it was paused
    else
      pass_time(*entry, reading, reading.row.memory_bytes);
    reading.counts_time = true;
  } else if (state == "paused") {
    if (reading.row.looked_at != 0) pass_time(*entry, reading, reading.row.memory_bytes);
    reading.counts_time = false;
  } else if (state == "stopped" || state == "failed") {
    end();
  } else {
    return;  // provisioning, deleting: nothing begins or ends yet
  }
  reading.unwritten = true;
  // A daemon that was killed must know when a life began. The first one began at the creation,
  // which the sandbox's row has.
  const bool is_known = !reading.on_record && entry->row.state == SandboxState::kReady;
  const auto written = is_known ? Result<void>() : write();
  if (!written) jobs_.warn("usage: " + written.error().message);
}

Result<void> Meter::write() {
  std::vector<UsageRow> rows;
  std::vector<SandboxId> gone;
  for (auto& [id, reading] : readings_) {
    const auto entry = registry_->by_id(id);
    if (!entry) {
      gone.push_back(id);
    } else {
      take_bytes(*entry, reading);
    }
    if (reading.unwritten) rows.push_back(reading.row);
  }
  if (!rows.empty()) {
    CAY_CHECK(registry_->store().put_usage(rows));
  }
  for (auto& [id, reading] : readings_) {
    reading.on_record = reading.on_record || reading.unwritten;
    reading.unwritten = false;
  }
  for (const auto& id : gone) {
    CAY_CHECK(registry_->store().retire_usage(id));
    readings_.erase(id);
  }
  return {};
}

Task<UsageTotals> Meter::of(Principal who, std::string ref) {
  CAY_CO_TRY(auto entry, registry_->find(who, ref));
  auto looked = co_await look(entry);
  if (!looked) co_return std::move(looked).error();
  Reading& reading = reading_of(*entry);
  take_bytes(*entry, reading);
  co_return reading.row.totals;
}

Task<std::vector<SandboxUse>> Meter::now(Principal who) {
  std::vector<std::shared_ptr<Outcome<SandboxUse>>> looks;
  for (const auto& entry : registry_->entries()) {
    if (entry->row.tenant != who.tenant || !entry->live) continue;
    looks.push_back(jobs_.begin<SandboxUse>(use_of(entry)));
  }
  std::vector<SandboxUse> out;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    const auto look = looks[i];
    co_await look->done.wait();
    if (look->result)
      out.push_back(*std::move(look->result));  // else it went meanwhile, or does not answer
  }
  co_return out;
}

Task<UsageReport> Meter::report(Principal who, UsageQuery query) {
  std::vector<std::shared_ptr<Outcome<void>>> looks;
  for (const auto& entry : registry_->entries()) {
    // Only those that are due are read anew. The others keep their last reading.
    if (entry->row.tenant != who.tenant || !due(*entry, registry_->time().now())) continue;
    looks.push_back(jobs_.begin<void>(look(entry)));
  }
  for (std::size_t i = 0; i < looks.size();
       ++i) {  // all at once: silent ones cost the limit of one
    const auto look = looks[i];
    co_await look->done.wait();
  }
  CAY_CO_CHECK(write());  // those that are gone meanwhile are among the retired, and only there
  CAY_CO_TRY(UsageReport out, registry_->store().retired_usage(who.tenant, query));
  for (const auto& [id, reading] : readings_) {
    if (reading.row.tenant == who.tenant)
      cay::add(out, query, reading.row.labels, {1, reading.row.totals});
  }
  co_return out;
}

Task<UsageSummary> Meter::summary(Principal who) {
  UsageSummary sum;
  sum.cpu_limit_millicores = runtimes_.cpu_limit();
  sum.memory_limit_bytes = runtimes_.memory_limit();
  sum.sandboxes_limit = runtimes_.rooms().front().sandboxes_limit();
  for (const auto& entry : registry_->entries()) {
    if (entry->row.tenant != who.tenant) continue;
    if (entry->room) {
      sum.cpu_used_millicores += entry->given.cpu_millicores;
      sum.memory_used_bytes += entry->given.memory_bytes;
    }
    if (entry->runs()) ++sum.running;
    if (entry->row.state == SandboxState::kStopped) ++sum.stopped;
  }
  CAY_CO_TRY(const auto all, registry_->store().snapshots().all());
  sum.snapshots = static_cast<std::uint32_t>(all.size());
  co_return sum;
}

}  // namespace cay::core
