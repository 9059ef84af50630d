// SqliteSecrets: the secret port on the store's database.
#pragma once
#include <string>
#include <vector>

#include "store/sqlite_links.h"
#include "store/secret_table.h"

namespace cay::store {

class SqliteSecrets : public SqliteLinks {
 public:
  using SqliteLinks::SqliteLinks;

  // An answer that it is kept, or gone, is true after a power cut.
  Result<void> put_secret(const StoredSecret& secret) override {
    return durably(db(), [&] { return secrets_.put(secret); });
  }
  Result<void> erase_secret(const TenantId& tenant, const std::string& name) override {
    return durably(db(), [&] { return secrets_.erase(tenant, name); });
  }
  Result<std::vector<StoredSecret>> secrets() override { return secrets_.rows(); }

 private:
  SecretTable secrets_{db()};
};

}  // namespace cay::store
