// These are the settings of the core. They come from the operator's configuration and from the
// host's capacity.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ip_address.h"
#include "core/profiles.h"
#include "model/limits.h"
#include "policy/catalogue.h"

namespace cay::core {

struct HostLimits {
  std::uint32_t max_sandboxes = 1000;                 // per tenant, all states
  std::uint64_t memory_reserve_bytes = 512ull << 20;  // never given to sandboxes
  std::uint64_t disk_reserve_bytes = 1ull << 30;
  double memory_overcommit = 4.0;  // sum of running limits / (host memory - reserve)
  double cpu_overcommit = 64.0;    // agents mostly wait; the memory is the real guard
  std::uint32_t max_parallel_boots = 8;
  std::uint32_t pool = 0;  // sandboxes that are booted ahead, at most; 0: none
  std::uint64_t answer_bytes =
      512ull
      << 20;  // of whole answers that are being made or sent; less where there is less memory
};

struct Defaults {
  Limits limits{
      .cpu_millicores = 1000, .memory_bytes = 2ull << 30, .disk_bytes = 8ull << 30, .pids = 4096};
  Limits maximum{.cpu_millicores = 16'000,
                 .memory_bytes = 64ull << 30,
                 .disk_bytes = 256ull << 30,
                 .pids = 32'768};
  std::int64_t idle_ttl_s = 600;
  std::int64_t delete_after_stop_s = 14 * 86'400;
  std::string policy = "packages";  // as a client would write it
  std::shared_ptr<const policy::Catalogue> policies =
      std::make_shared<const policy::Catalogue>();  // the named ones, and which are allowed
  std::vector<Network> networks{};                  // special ranges that the operator opens
  std::function<bool(const IpAddress&)>
      is_own_address{};  // true for an address of this host; called on any thread; empty: none is
  Profiles profiles{};
};

// The host's capacity. Zero or absent: unknown, and then not a limit. The app reads it from the
// kernel.
struct HostCapacity {
  std::uint64_t memory_bytes = 0;
  std::uint32_t cpu_millicores = 0;                // 1000 per CPU
  std::function<std::uint64_t()> free_disk_bytes;  // of the file system that holds the disks
};

// How long the core waits for what.
struct Timing {
  std::chrono::milliseconds boot_limit{60'000};  // a boot in the background, its queueing included
  std::chrono::milliseconds wake_wait{
      30'000};  // a command or file verb for its sandbox to be ready
  std::chrono::milliseconds overtake_limit{
      10'000};  // others have room before one that waits for more (core/admission.h)
  std::chrono::milliseconds clean_limit{10'000};  // beyond a caller's deadline, for leaving nothing
  std::chrono::milliseconds close_limit{30'000};  // for what is under way when the daemon ends
  std::chrono::milliseconds last_boots{3'000};    // of that, for sandboxes to come up: it takes
                                                  // milliseconds, unless they wait for room
};

}  // namespace cay::core
