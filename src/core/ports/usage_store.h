// The usage port: totals that survive the daemon and the sandbox. Part of the store.
#pragma once
#include <vector>

#include "base/result.h"
#include "model/usage.h"

namespace cay::core {

class UsageStore {
 public:
  virtual ~UsageStore() = default;

  // In one transaction; replaces rows of the same sandbox.
  virtual Result<void> put_usage(const std::vector<UsageRow>& rows) = 0;
  virtual Result<std::vector<UsageRow>> usage_rows() = 0;  // every tenant's sandboxes, at start
  // The sandbox is gone: its totals are added to those of its tenant and labels, which stay. Beyond
  // many thousand sets of labels, the rest is kept together without labels.
  virtual Result<void> retire_usage(const SandboxId& sandbox) = 0;
  // Returns the totals of sandboxes that are gone.
  virtual Result<UsageReport> retired_usage(const TenantId& tenant, const UsageQuery& query) = 0;
};

}  // namespace cay::core
