// NativeCapabilities collects the features of the launcher and of this host's kernel, for
// Runtime::capabilities().
#pragma once
#include <chrono>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "core/ports/capabilities.h"
#include "wire/messages.h"

namespace cay::runtime {

class NativeCapabilities {
 public:
  // How long a lack that the launcher's probe found counts. Afterwards the kernel may have loaded
  // what was missing, and the next boot finds out.
  static constexpr Millis kProbeCounts{10'000};

  using Time = std::chrono::steady_clock::time_point;

  // Keeps the result of a probe.
  void learn(const std::vector<wire::FeatureMsg>& probe, Time now);

  // `launcher`: its HELLO. One that lists no features is older, or was not met yet: it counts as
  // able, and the answer to a boot decides. `nested_networks`: NativeConfig's.
  core::Capabilities now(const wire::Hello& launcher, bool nested_networks, Time now) const;

 private:
  struct Probed {
    core::Capability programs, network, disk_limit;
    Time at;
  };
  std::optional<Probed> probed_;
};

}  // namespace cay::runtime
