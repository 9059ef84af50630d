// LinkTable: rights to services and files. A row goes with its sandbox's.
#pragma once
#include <vector>

#include "model/link.h"
#include "db/database.h"

namespace cay::store {

class LinkTable {
 public:
  explicit LinkTable(db::Database& db) : db_(db) {}

  Result<void> put(const Link& link);
  Result<void> erase(const std::vector<LinkId>& ids);
  Result<std::vector<Link>> rows();

 private:
  db::Database& db_;
};

}  // namespace cay::store
