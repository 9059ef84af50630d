#include "core/testing/fake_runtime.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "base/assert.h"

namespace cay::core::testing {
namespace {

// Counts a boot under way, and uncounts it however it ends.
class Counted {
 public:
  explicit Counted(int& count) : count_(count) { ++count_; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --count_; }

 private:
  int& count_;
};

}  // namespace

FakeRuntime::FakeRuntime(asio::any_io_executor loop, Clock& clock)
    : FakeRecords(loop, clock),
      fake_layers(
          [this](const SandboxId& id) {
            const auto found = disks.find(id);
            return found == disks.end() ? nullptr : found->second.upper;
          },
          [this](const LayerId& id) {
            return std::ranges::any_of(
                disks, [&](const auto& disk) { return disk.second.upper->stands_on == id; });
          }),
      boots_released_(loop),
      stops_released_(loop) {
  default_snapshot.id = SnapshotId("00000000-0000-4000-8000-00000000d0d0");
  default_snapshot.name = "default";
  default_snapshot.status = "ready";
  default_snapshot.created_at = 1;
}

void FakeRuntime::release_boots() {
  hold_boots = false;
  boots_released_.notify();
}

void FakeRuntime::release_stops() {
  hold_stops = false;
  stops_released_.notify();
}

void FakeRuntime::die(const SandboxId& id, const std::string& reason) {
  box(id).fake_commands().die(reason);
  alive.erase(id);
  if (on_death_) on_death_(SandboxDeath{id, reason});
}

std::shared_ptr<FakeLiveSandbox> FakeRuntime::put_alive(const SandboxId& id) {
  BootSpec spec;
  spec.id = id;
  auto live = std::make_shared<FakeLiveSandbox>(std::move(spec), disk_of(id));
  alive[id] = live;
  return live;
}

FakeLiveSandbox& FakeRuntime::only_box() {
  CAY_ASSERT(alive.size() == 1);
  return *alive.begin()->second;
}

Task<std::shared_ptr<LiveSandbox>> FakeRuntime::boot(BootSpec spec) {
  boots.push_back(spec);
  Counted counted(booting);
  most_booting = std::max(most_booting, booting);
  while (hold_boots) {
    co_await boots_released_.wait();
  }
  if (boot_time.count() > 0) {
    asio::steady_timer timer(loop_, boot_time);
    co_await timer.async_wait(asio::use_awaitable);
  }
  std::optional<Error> failure = boot_error;
  if (!boot_script.empty()) {
    failure = boot_script.front();
    boot_script.pop_front();
  }
  const bool wants_out = !spec.policy.empty() && spec.policy != "off";
  if (!failure && wants_out && spec.network_required && !no_network.empty()) {
    failure = Error{Code::kUnsupported, "network_unsupported", no_network, 0};
  }
  if (failure) {
    if (leaves_remains) disk_of(spec.id);
    co_return *failure;
  }
  if (spec.disk_of && !disks.contains(*spec.disk_of))
    co_return Error{Code::kNotFound, "sandbox_not_found", "there is no disk to copy", 0};
  const bool copies = spec.disk_of && !disks.contains(spec.id);
  FakeDisk& disk = disk_of(spec.id);
  if (spec.fresh_disk) {
    const FakeDisk kept = std::exchange(disk, FakeDisk{});
    disk.commands = kept.commands;
    disk_of(spec.id);
  }
  if (copies) {
    const FakeDisk& from = disk_of(*spec.disk_of);
    disk.files->tree = from.files->tree;
    *disk.upper = *from.upper;
  }
  disk.upper->stands_on = spec.layer;
  disk.commands->revive();
  if (program) disk.commands->program = program;
  auto live = std::make_shared<FakeLiveSandbox>(spec, disk);
  live->way_out = SandboxNetwork{};
  if (wants_out)
    live->way_out = SandboxNetwork{
        no_network.empty() ? NetworkState::kOn : NetworkState::kUnavailable, no_network};
  for (const DiskMount& mount : spec.mounts) {
    const auto layer = fake_layers.sealed.find(mount.layer);
    if (layer == fake_layers.sealed.end()) continue;
    live->directories[mount.path] = layer->second.entries;
    put_files(layer->second.entries, *disk.files, mount.path);
  }
  if (const auto top = fake_layers.sealed.find(spec.layer); top != fake_layers.sealed.end()) {
    auto stack = top->second.layer.below;
    std::ranges::reverse(stack);
    stack.push_back(spec.layer);
    for (const LayerId& id : stack) {
      const auto& entries = fake_layers.sealed[id].entries;
      auto& all = live->directories["/"];
      all.insert(all.end(), entries.begin(), entries.end());
      put_files(entries, *disk.files);
    }
  }
  alive[spec.id] = live;
  in_force[spec.id] = {spec.policy, spec.rules};
  co_return std::shared_ptr<LiveSandbox>(live);
}

Task<void> FakeRuntime::stop(SandboxId id) {
  stops.push_back(id);
  while (hold_stops) {
    co_await stops_released_.wait();
  }
  if (stop_error) co_return *stop_error;
  const auto found = alive.find(id);
  if (found != alive.end()) {
    found->second->fake_commands().end_all("sandbox stop");
    alive.erase(found);
  }
  co_return Result<void>();
}

Task<void> FakeRuntime::destroy(SandboxId id) {
  destroys.push_back(id);
  while (hold_stops) {
    co_await stops_released_.wait();
  }
  if (destroy_error) co_return *destroy_error;
  const auto found = alive.find(id);
  if (found != alive.end()) {
    found->second->fake_commands().end_all("sandbox removal");
    found->second->fake_commands().die("sandbox deleted");
    alive.erase(found);
  }
  disks.erase(id);
  co_return Result<void>();
}

Task<std::vector<SandboxId>> FakeRuntime::with_disk() {
  std::vector<SandboxId> out;
  for (const auto& [id, disk] : disks) out.push_back(id);
  co_return std::move(out);
}

Task<std::vector<std::pair<SandboxId, std::shared_ptr<LiveSandbox>>>> FakeRuntime::adopt(
    std::vector<SandboxId> known) {
  known_at_adopt = known;
  std::erase_if(disks, [&](const auto& disk) {
    const bool wanted = std::find(known.begin(), known.end(), disk.first) != known.end();
    return !wanted && !alive.contains(disk.first);
  });
  std::vector<std::pair<SandboxId, std::shared_ptr<LiveSandbox>>> out;
  for (const auto& [id, live] : alive) out.emplace_back(id, live);
  co_return out;
}

Task<void> FakeRuntime::set_policy(SandboxId id, std::string policy, std::string rules) {
  policies[id] = {std::move(policy), std::move(rules)};
  if (policy_error) co_return *policy_error;
  in_force[id] = policies[id];
  co_return Result<void>();
}

Task<SnapshotInfo> FakeRuntime::prepare_default_snapshot(
    std::function<void(std::string)> progress) {
  if (prepare_error) co_return *prepare_error;
  if (progress) progress("preparing the default snapshot");
  co_return default_snapshot;
}

void FakeRuntime::watch(std::function<void(SandboxDeath)> on_death) {
  on_death_ = std::move(on_death);
}

Task<std::vector<Feature>> FakeRuntime::features() {
  Feature feature;
  feature.name = "fake";
  feature.ok = true;
  feature.found = "memory";
  co_return std::vector<Feature>{feature};
}

}  // namespace cay::core::testing
