// UsageTable stores the resources that sandboxes used. Live sandboxes have a row each. Those that
// are gone are added up by tenant and labels.
#pragma once
#include <vector>

#include "model/usage.h"
#include "db/database.h"

namespace cay::store {

class UsageTable {
 public:
  explicit UsageTable(db::Database& db) : db_(db) {}

  Result<void> put(const std::vector<UsageRow>& rows);
  Result<std::vector<UsageRow>> rows();
  Result<void> retire(const SandboxId& sandbox);
  Result<UsageReport> retired(const TenantId& tenant, const UsageQuery& query);

 private:
  static constexpr std::int64_t kMostLabelSets = 10'000;  // of a tenant

  db::Database& db_;
};

}  // namespace cay::store
