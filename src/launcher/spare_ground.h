// SpareGround: one groundwork that is made ahead, of the kind that the last create used. A create
// of that kind takes it. A create of another kind, or one that comes meanwhile, lets its own init
// make all of it.
//
// It is made as soon as a sandbox ends, whose place the next one often takes, or once the launcher
// was quiet for a while. Unused, it is given up after some minutes.
#pragma once
#include <chrono>
#include <optional>

#include "launcher/groundwork.h"
#include "launcher/guest_network_plans.h"
#include "launcher/host.h"
#include "launcher/poller.h"
#include "wire/messages.h"

namespace cay::launcher {

class SpareGround {
 public:
  using Clock = std::chrono::steady_clock;

  // All outlive this.
  SpareGround(Host& host, Poller& poller, GuestNetworkPlans& networks)
      : host_(host), poller_(poller), networks_(networks) {}

  // The groundwork for that request. None: there is none that fits.
  std::optional<Groundwork> take(const wire::CreateSandbox& request);
  // Makes one now, if the last create left none and none is being made.
  void refill();
  // Gives it up, so that its slot is free. False: there was none.
  bool drop();
  // Refills or gives up when it is time to. Returns the milliseconds until the next call (-1:
  // never).
  int tick();

  static constexpr auto kQuiet = std::chrono::milliseconds(20);
  static constexpr auto kUnused = std::chrono::minutes(10);

 private:
  void watch();
  void on_progress();
  bool enabled() const;

  Host& host_;
  Poller& poller_;
  GuestNetworkPlans& networks_;
  std::optional<GroundKind> wanted_;  // of the last create
  bool lacks_ = false;                // a create came since the last refill
  Clock::time_point quiet_from_, unused_from_;
  std::optional<Groundwork> spare_;
  std::optional<GroundworkMaker> making_;
};

}  // namespace cay::launcher
