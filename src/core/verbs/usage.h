// The verbs of Usage report the resources that sandboxes used, over all their starts. core/meter.h
// describes the counting.
#pragma once
#include <string>
#include <vector>

#include "async/task.h"
#include "core/ports/runtime.h"
#include "model/principal.h"
#include "model/sandbox.h"
#include "model/usage.h"

namespace cay::core {

// The present use of one running sandbox, and the bytes that it has moved.
struct SandboxUse {
  Sandbox sandbox;
  SandboxStats stats;
  UsageTotals totals;
};

class Usage {
 public:
  virtual ~Usage() = default;
  virtual Task<UsageTotals> of(Principal who, std::string ref) = 0;
  // The tenant's, deleted sandboxes too, by the labels they have or had last.
  virtual Task<UsageReport> report(Principal who, UsageQuery query) = 0;
  virtual Task<std::vector<SandboxUse>> now(Principal who) = 0;
  // Returns how many sandboxes and how much room the tenant holds, and the host's limits.
  virtual Task<UsageSummary> summary(Principal who) = 0;
};

}  // namespace cay::core
