// SqliteUsage: the usage port on the store's database.
#pragma once
#include <vector>

#include "store/sqlite_journal.h"
#include "store/usage_table.h"

namespace cay::store {

class SqliteUsage : public SqliteJournal {
 public:
  using SqliteJournal::SqliteJournal;

  Result<void> put_usage(const std::vector<UsageRow>& rows) override { return usage_.put(rows); }
  Result<std::vector<UsageRow>> usage_rows() override { return usage_.rows(); }
  Result<void> retire_usage(const SandboxId& sandbox) override { return usage_.retire(sandbox); }
  Result<UsageReport> retired_usage(const TenantId& tenant, const UsageQuery& query) override {
    return usage_.retired(tenant, query);
  }

 private:
  UsageTable usage_{db()};
};

}  // namespace cay::store
