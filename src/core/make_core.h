// make_core: wires the core's verbs to its ports. The daemon (apps) and tests call it.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "async/task.h"
#include "base/clock.h"
#include "core/cay.h"
#include "core/ports/images.h"
#include "core/ports/store.h"
#include "core/ports/vault.h"
#include "core/settings.h"

namespace cay::core {

class Runtime;

struct CoreConfig {
  Vault* vault = nullptr;    // outlives the core; null: no secrets are kept
  Images* images = nullptr;  // outlives the core; null: no images are fetched (images_unsupported)
  // A snapshot or an image that `default` means. Empty: the host's own system.
  std::string default_snapshot{};
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
