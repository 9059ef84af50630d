// BuildsUnderWay: the builds that run, by their snapshots.
#pragma once
#include <map>
#include <memory>

#include "core/long_work.h"
#include "model/ids.h"

namespace cay::core {

class BuildsUnderWay {
 public:
  // Null: none is under way.
  std::shared_ptr<LongWork> of(const SnapshotId& id) const {
    const auto found = all_.find(id);
    return found == all_.end() ? nullptr : found->second;
  }
  void add(const SnapshotId& id, std::shared_ptr<LongWork> work) { all_[id] = std::move(work); }
  void erase(const SnapshotId& id) { all_.erase(id); }
  void give_up(const Error& why) {
    const auto all = all_;
    for (const auto& [id, work] : all) work->give_up(why);
  }

 private:
  std::map<SnapshotId, std::shared_ptr<LongWork>> all_;
};

}  // namespace cay::core
