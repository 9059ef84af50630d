// DrainVerbs: emptying a host before it is upgraded or switched off. While draining nothing new
// begins (create, start, wake, new commands); what runs goes on, and everything about it can be
// read, fed and killed.
#pragma once
#include <functional>
#include <memory>

#include "core/jobs.h"
#include "core/lifecycle.h"
#include "core/registry.h"
#include "core/verbs/drain.h"

namespace cay::core {

class DrainVerbs : public Drain {
 public:
  DrainVerbs(std::shared_ptr<Registry> registry, Lifecycle& lifecycle, Jobs& jobs)
      : registry_(std::move(registry)), lifecycle_(lifecycle), jobs_(jobs) {}

  Task<DrainStatus> set(Principal who, bool draining) override;
  Task<DrainStatus> status(Principal who) override;
  Task<DrainStatus> stop_all(Principal who) override;

  // Called when the operator sets or ends draining; may be absent.
  std::function<void()> on_set;

  // For the daemon itself, at its end.
  Task<void> stop_everything();

 private:
  Task<DrainStatus> count();
  Task<void> stop_one(std::shared_ptr<Entry> entry);

  std::shared_ptr<Registry> registry_;
  Lifecycle& lifecycle_;
  Jobs& jobs_;
};

}  // namespace cay::core
