// DefaultImage: the snapshot or image that the operator names as `default`. The daemon serves
// meanwhile. A pull that fails is tried again.
#pragma once
#include <optional>
#include <string>
#include <utility>

#include "async/event.h"
#include "core/jobs.h"
#include "core/ports/runtime.h"
#include "core/snapshots.h"

namespace cay::core {

class DefaultImage {
 public:
  // `name` empty: `default` is the host's own.
  DefaultImage(SnapshotVerbs& snapshots, Jobs& jobs, std::string name)
      : snapshots_(snapshots), jobs_(jobs), name_(std::move(name)), stopped_(jobs.loop()) {}

  bool is_set() const { return !name_.empty(); }
  // From here on `default` means it, and fails snapshot_not_ready until it is here.
  void begin();
  void stop() { stopped_.set(); }  // the daemon ends
  // Why there is none, once an attempt failed.
  const std::optional<Error>& failure() const { return failure_; }
  Feature feature() const;  // for doctor

 private:
  Task<void> job();
  void miss(const std::string& why);

  SnapshotVerbs& snapshots_;
  Jobs& jobs_;
  const std::string name_;
  Event stopped_;
  std::optional<Error> failure_;
  std::string state_;  // for people
};

}  // namespace cay::core
