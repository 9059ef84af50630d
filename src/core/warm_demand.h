// WarmDemand: decides how many sandboxes of each kind the warm pool keeps, by the creations of the
// last minutes.
//
// A kind is a BootSpec without what differs from sandbox to sandbox. Its level is the largest
// number of creations within ten seconds. It is halved for each minute since then. A kind that was
// created twice has a level of at least one. Ten minutes after its last creation a kind is
// forgotten.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "core/ports/runtime.h"

namespace cay::core {

class WarmDemand {
 public:
  using Moment = std::chrono::steady_clock::time_point;

  // `most`: the sum of all levels never exceeds it.
  explicit WarmDemand(std::uint32_t most) : most_(most) {}

  // Notes a creation of this kind.
  void created(const BootSpec& kind, Moment now);
  // Notes that a creation of this kind is likely: one is kept, as if it had been created twice.
  void expect(const BootSpec& kind, Moment now);
  // The kind cannot be booted any more, or nobody can create it.
  void forget(const BootSpec& kind);

  // Returns the kinds of which some are to be kept, each with the number. The one with the highest
  // level is first.
  std::vector<std::pair<BootSpec, std::uint32_t>> wanted(Moment now);

 private:
  struct Known {
    BootSpec kind;
    std::deque<Moment> recent;  // creations of the last ten seconds, at most `most_`
    std::uint32_t seen = 0;
    Moment last{};  // creation
    std::uint32_t peak = 0;
    Moment peak_at{};
  };
  Known& known(const BootSpec& kind, Moment now);
  void forget_idle(Moment now);
  static std::uint32_t level(const Known& one, Moment now);

  const std::uint32_t most_;
  std::vector<Known> known_;
};

}  // namespace cay::core
