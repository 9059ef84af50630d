#include "core/builder.h"

#include <algorithm>

#include "async/deadline.h"

namespace cay::core {
namespace {

constexpr std::uint64_t kBuilderMemory = 512ull << 20;
constexpr std::uint32_t kBuilderMillicores = 1000;
constexpr std::uint32_t kBuilderPids = 64;
constexpr Millis kRoomLimit{600'000};  // images wait for room, as creations do
constexpr Millis kBuilderBootLimit{60'000};

}  // namespace

Task<void> Builder::boot(LayerId below, std::vector<DiskMount> mounts) {
  BootSpec spec;
  spec.hostname = "builder";
  spec.layer = std::move(below);
  spec.builds_layer = true;
  spec.mounts = std::move(mounts);
  spec.policy = "off";
  spec.limits.memory_bytes = kBuilderMemory;
  spec.limits.cpu_millicores = kBuilderMillicores;
  spec.limits.pids = kBuilderPids;
  auto booting = boot(std::move(spec));
  auto booted = co_await std::move(booting);
  co_return booted;
}

Task<void> Builder::boot(BootSpec spec) {
  spec.id = id_;
  spec.limits.disk_bytes = most_bytes_;
  if (host_.disk.free_bytes) {
    const std::uint64_t free = host_.disk.free_bytes();
    if (free <= host_.disk.reserve_bytes) {
      co_return Error{Code::kExhausted, "quota_storage",
                      "storage is exhausted: the host has only left what it keeps back; delete "
                      "sandboxes or snapshots, or free disk space",
                      0};
    }
    spec.limits.disk_bytes = std::min(most_bytes_, free - host_.disk.reserve_bytes);
  }
  const auto deadline = deadline_in(kRoomLimit);
  CAY_CO_TRY(room_, co_await host_.admission.room(tenant_, spec.limits, Admission::Order::kInTurn,
                                                  deadline));
  CAY_CO_TRY(auto place, co_await host_.admission.place(deadline));
  begun_ = true;
  host_.builders->insert(id_);
  auto booting = host_.runtime.boot(std::move(spec));
  CAY_CO_TRY(live_, co_await with_deadline(std::move(booting), kBuilderBootLimit,
                                           "the start of a builder"));
  co_return Result<void>();
}

Task<void> Builder::destroy() {
  live_.reset();
  Result<void> gone;
  if (begun_) {
    gone = co_await host_.runtime.destroy(id_);
  }
  begun_ = false;
  host_.builders->erase(id_);
  room_.reset();
  co_return gone;
}

}  // namespace cay::core
