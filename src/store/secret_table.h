// SecretTable: secrets as they are kept: their sealed bytes, which nobody here can open.
#pragma once
#include <string>
#include <vector>

#include "model/proxy.h"
#include "db/database.h"

namespace cay::store {

class SecretTable {
 public:
  explicit SecretTable(db::Database& db) : db_(db) {}

  Result<void> put(const StoredSecret& secret);
  Result<void> erase(const TenantId& tenant, const std::string& name);
  Result<std::vector<StoredSecret>> rows();

 private:
  db::Database& db_;
};

// A sandbox's rules as a column.
std::string encode_rules(const std::vector<ProxyRule>& rules);
Result<std::vector<ProxyRule>> decode_rules(const std::string& json);

}  // namespace cay::store
