// SqliteLinks: the link port on the store's database.
#pragma once
#include <vector>

#include "store/sqlite_usage.h"
#include "store/link_table.h"

namespace cay::store {

class SqliteLinks : public SqliteUsage {
 public:
  using SqliteUsage::SqliteUsage;

  Result<void> put_link(const Link& link) override { return links_.put(link); }
  // A right that was withdrawn must not come back.
  Result<void> erase_links(const std::vector<LinkId>& ids) override {
    return durably(db(), [&] { return links_.erase(ids); });
  }
  Result<std::vector<Link>> links() override { return links_.rows(); }

 private:
  LinkTable links_{db()};
};

}  // namespace cay::store
