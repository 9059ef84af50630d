// SpareDisks: disks that are made ahead, one for each layer that a sandbox was made on lately. A
// disk on a layer begins as a snapshot, which commits the pool. The next create on that layer takes
// the spare and does not wait for a commit.
#pragma once
#include <deque>
#include <memory>
#include <string>

#include "base/result.h"
#include "launcher/child_job.h"
#include "launcher/disk_maker.h"
#include "launcher/host.h"
#include "launcher/outbox.h"
#include "launcher/poller.h"

namespace cay::launcher {

class SpareDisks {
 public:
  SpareDisks(Host& host, Poller& poller, Outbox& outbox)
      : host_(host), poller_(poller), outbox_(outbox) {}

  // Makes the disk of that plan from a spare. False: there is none for it.
  Result<bool> take(const DiskPlan& plan);
  // Makes a spare on that layer in a child process. One is made at a time, and a layer whose spare
  // is there gets none. At most kMost are kept, and the oldest is removed.
  void refill(const std::string& layer);

  static constexpr std::size_t kMost = 8;

 private:
  void on_made(const std::string& layer);

  Host& host_;
  Poller& poller_;
  Outbox& outbox_;
  std::deque<std::string> layers_;  // that have a spare, the oldest first
  std::unique_ptr<ChildJob> making_;
};

}  // namespace cay::launcher
