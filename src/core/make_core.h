// make_core: wires the core's verbs to its ports. The daemon (apps) and tests call it.
#pragma once
#include <memory>

#include "core/cay.h"

namespace cay::core {

struct CoreConfig {
  HostLimits host;
  Defaults defaults;
};

// References outlive the core. `loop` is where everything runs.
std::unique_ptr<Cay> make_core(asio::any_io_executor loop, Runtime& runtime, Store& store, Clock& clock,
                               CoreConfig config);

}  // namespace cay::core
