// SpareDisks: disks that are made ahead, some for each layer that a sandbox was made on lately. A
// disk on a layer begins as a snapshot, which commits the pool. The next creates on that layer take
// the spares and do not wait for a commit.
//
// The removal of a disk waits for a commit that runs, and the launcher's loop waits with it. So the
// spares of a layer are made together, in few commits. They are made beside the disk of a create
// that found no spare, which needs a commit itself. Else they are made once the launcher was quiet.
#pragma once
#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "launcher/child_job.h"
#include "launcher/disk_maker.h"
#include "launcher/host.h"
#include "launcher/outbox.h"
#include "launcher/poller.h"

namespace cay::launcher {

class SpareDisks {
 public:
  using Clock = std::chrono::steady_clock;

  SpareDisks(Host& host, Poller& poller, Outbox& outbox)
      : host_(host), poller_(poller), outbox_(outbox) {}

  // Makes the disk of that plan from a spare. False: there is none for it.
  Result<bool> take(const DiskPlan& plan);
  // Makes the missing spares of that layer in child processes, now. Does nothing while others are
  // made. At most kMostLayers have spares. The one that was refilled longest ago loses its own.
  void refill(const std::string& layer);
  // The caller reports here that a sandbox begins or ends.
  void note_activity() { quiet_from_ = Clock::now() + kQuiet; }
  // Refills one layer if it is time to. Returns the milliseconds until the next call (-1: never).
  int tick();

  static constexpr std::size_t kMostLayers = 8;
  static constexpr auto kQuiet = std::chrono::milliseconds(200);

 private:
  struct Layer {
    std::string id;
    bool lacks = false;  // a spare was taken since the last refill
  };

  Layer* find(const std::string& layer);
  void on_made(const std::string& layer);

  Host& host_;
  Poller& poller_;
  Outbox& outbox_;
  // Those that have spares, or for which some are made. The one that was refilled last is the last.
  std::deque<Layer> layers_;
  Clock::time_point quiet_from_;
  std::unique_ptr<ChildJob> making_;
};

}  // namespace cay::launcher
