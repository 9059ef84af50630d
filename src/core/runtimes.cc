#include "core/runtimes.h"

#include <algorithm>
#include <utility>

namespace cay::core {
namespace {

std::uint64_t sum_of_known(const std::deque<Admission>& rooms,
                           std::uint64_t (Admission::*limit)() const) {
  std::uint64_t sum = 0;
  for (const Admission& room : rooms) {
    const std::uint64_t one = (room.*limit)();
    if (one == 0) return 0;
    sum += one;
  }
  return sum;
}

}  // namespace

Runtimes::Runtimes(asio::any_io_executor loop, std::vector<NamedRuntime> all,
                   const HostLimits& limits, HostCapacity host, Millis overtake_limit) {
  const DiskRoom shared{host.free_disk_bytes, limits.disk_reserve_bytes};
  rooms_.emplace_back(loop, limits, std::move(host), overtake_limit);
  for (NamedRuntime& one : all) {
    Admission* room = &rooms_.front();
    DiskRoom disk = shared;
    if (one.capacity) {
      disk.free_bytes = one.capacity->free_disk_bytes;
      room = &rooms_.emplace_back(loop, limits, *std::move(one.capacity), overtake_limit);
    }
    hosts_.push_back({std::move(one.name), one.runtime, *room, std::move(disk)});
  }
}

const RuntimeHost* Runtimes::find(const std::string& name) const {
  const auto found = std::ranges::find(hosts_, name, &RuntimeHost::name);
  return found == hosts_.end() ? nullptr : &*found;
}

std::uint64_t Runtimes::memory_limit() const {
  return sum_of_known(rooms_, &Admission::memory_limit);
}

std::uint64_t Runtimes::cpu_limit() const { return sum_of_known(rooms_, &Admission::cpu_limit); }

}  // namespace cay::core
