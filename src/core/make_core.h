// make_core: wires the core's verbs to its ports. The daemon (apps) and tests call it.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/cay.h"
#include "core/ports/vault.h"

namespace cay::core {

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

struct CoreConfig {
  Vault* vault = nullptr;  // outlives the core; null: no secrets are kept
  HostLimits host;
  Defaults defaults;
  HostCapacity capacity;
  Timing timing;
  // When the first process of this PID namespace began (a container's, or the host's): another one,
  // and whatever ran in the namespace has ended since. Empty: not known.
  std::string init_life;
  std::function<void(std::string)> warn;  // failures of work that nobody waits for; may be absent
};

// References outlive the core, and `loop` (where everything runs) is not run after the core is
// gone: close() first.
std::unique_ptr<Cay> make_core(asio::any_io_executor loop, Runtime& runtime, Store& store,
                               Clock& clock, CoreConfig config);

}  // namespace cay::core
