#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

#include "base/testing/temp_dir.h"
#include "store/store.h"

namespace cay::store {
namespace {

class UsageTableTest : public ::testing::Test {
 protected:
  UsageTableTest() { open(); }
  void open() {
    store.reset();
    auto opened = open_store(path);
    ASSERT_TRUE(opened) << opened.error().message;
    store = *std::move(opened);
  }
  static UsageRow row(const std::string& id, const std::string& team, std::uint64_t cpu) {
    UsageRow out;
    out.sandbox_id = SandboxId(id);
    out.tenant = TenantId("a");
    out.labels = {{"team", team}};
    out.totals = {cpu, 2, 3, 4, 5};
    out.looked_at = 6;
    out.cpu_usec = 7;
    out.memory_bytes = 8;
    return out;
  }
  UsageReport retired(UsageQuery query = {}) { return *store->retired_usage(TenantId("a"), query); }

  const cay::testing::TempDir temp;
  const std::string& path = temp.path();
  std::unique_ptr<core::Store> store;
};

TEST_F(UsageTableTest, RowsSurviveARestart) {
  ASSERT_TRUE(store->put_usage({row("1", "x", 1), row("2", "x", 10)}));
  ASSERT_TRUE(store->put_usage({row("1", "y", 9)}));
  open();
  const auto rows = store->usage_rows();
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2u);
  EXPECT_EQ(rows->at(0).totals, (UsageTotals{9, 2, 3, 4, 5}));
  EXPECT_EQ(rows->at(0).labels.at("team"), "y");
  EXPECT_EQ(rows->at(0).looked_at, 6);
  EXPECT_EQ(rows->at(0).cpu_usec, 7u);
  EXPECT_EQ(rows->at(0).memory_bytes, 8u);
}

TEST_F(UsageTableTest, RetiredOnesAreAddedUpByLabels) {
  ASSERT_TRUE(store->put_usage({row("1", "x", 1), row("2", "x", 10), row("3", "y", 100)}));
  for (const char* id : {"1", "2", "3", "3", "none"})
    ASSERT_TRUE(store->retire_usage(SandboxId(id)));
  open();
  EXPECT_TRUE(store->usage_rows()->empty());
  UsageQuery query;
  query.group_by = "team";
  const auto all = retired(query);
  EXPECT_EQ(all.all.sandboxes, 3u);
  EXPECT_EQ(all.all.totals.cpu_usec, 111u);
  EXPECT_EQ(all.groups.at("x").totals, (UsageTotals{11, 4, 6, 8, 10}));
  query.labels = {{"team", "y"}};
  EXPECT_EQ(retired(query).all.totals.cpu_usec, 100u);
  query.labels = {{"team", std::nullopt}};
  EXPECT_EQ(retired(query).all.sandboxes, 3u);
  EXPECT_EQ(store->retired_usage(TenantId("b"), {})->all.sandboxes, 0u);
}

TEST_F(UsageTableTest, SumsOfThoseThatAreGoneAreBounded) {
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open((path + "/state.db").c_str(), &other), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(other,
                   "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 9999) "
                   "INSERT INTO usage_retired (tenant, labels, sandboxes, cpu_usec, memory_mib_ms, "
                   "running_ms, bytes_in, bytes_out) "
                   "SELECT 'a', '{\"team\":\"t' || i || '\"}', 1, 1, 0, 0, 0, 0 FROM n",
                   nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(other);
  for (int i = 0; i < 20; ++i) {
    const std::string id = std::to_string(i);
    ASSERT_TRUE(store->put_usage({row(id, "new" + id, 1)}));
    ASSERT_TRUE(store->retire_usage(SandboxId(id)));
  }
  UsageQuery query;
  query.group_by = "team";
  const auto all = retired(query);
  EXPECT_EQ(all.groups.size(),
            10'001u);  // 10,000 sets of labels, and one sum of all that came later
  EXPECT_TRUE(all.groups.contains("new0"));
  EXPECT_FALSE(all.groups.contains("new1"));
  EXPECT_EQ(all.all.sandboxes, 9'999u + 20u);  // nothing is forgotten
}

}  // namespace
}  // namespace cay::store
