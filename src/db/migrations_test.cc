#include "db/migrations.h"

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

namespace cay::db {
namespace {

using cay::testing::TempDir;

constexpr const char* kSteps[] = {"CREATE TABLE box (name TEXT NOT NULL) STRICT",
                                  "ALTER TABLE box ADD COLUMN size INTEGER NOT NULL DEFAULT 7"};
constexpr const char* kBroken[] = {kSteps[0], "CREATE TABLE lid (x TEXT); CREATE TABLE box (y)"};

class MigrationsTest : public ::testing::Test {
 protected:
  std::int64_t number(const char* sql) {
    auto row = db_->prepare_once(sql);
    EXPECT_TRUE(row && *row->step()) << sql;
    return row->number(0);
  }
  std::int64_t version() { return number("PRAGMA user_version"); }

  const TempDir dir_;
  std::unique_ptr<Database> db_ = *Database::open(dir_.path() + "/x.db");
};

TEST_F(MigrationsTest, StepsAreTakenOnceAndKeepTheRows) {
  const Migrations history{kSteps, "x.db"};
  ASSERT_TRUE(migrate(*db_, history, 1));
  EXPECT_EQ(version(), 1);
  ASSERT_TRUE(db_->execute("INSERT INTO box VALUES ('a')"));
  ASSERT_TRUE(migrate(*db_, history, history.newest()));
  ASSERT_TRUE(migrate(*db_, history, history.newest()));
  EXPECT_EQ(version(), 2);
  EXPECT_EQ(number("SELECT size FROM box WHERE name = 'a'"), 7);
}

TEST_F(MigrationsTest, AStepThatFailsLeavesNothingOfItself) {
  const auto failed = migrate(*db_, {kBroken, "x.db"}, 2);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().code, Code::kUnavailable);
  EXPECT_EQ(version(), 1);
  EXPECT_EQ(number("SELECT count(*) FROM sqlite_schema WHERE name = 'lid'"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM sqlite_schema WHERE name = 'box'"), 1);
}

TEST_F(MigrationsTest, VersionsOutsideTheHistoryAreRefusedAndLeftAlone) {
  const Migrations history{kSteps, "x.db", 1};
  const auto too_old = migrate(*db_, history, 2);
  ASSERT_FALSE(too_old);
  EXPECT_EQ(too_old.error().code, Code::kUnsupported);
  EXPECT_EQ(too_old.error().reason, "store_too_old");
  EXPECT_TRUE(too_old.error().message.starts_with("x.db is of schema 0,"))
      << too_old.error().message;
  ASSERT_TRUE(db_->execute("PRAGMA user_version = 3"));
  const auto too_new = migrate(*db_, history, 2);
  ASSERT_FALSE(too_new);
  EXPECT_EQ(too_new.error().reason, "store_too_new");
  EXPECT_EQ(version(), 3);
  ASSERT_TRUE(db_->execute("PRAGMA user_version = 1"));
  EXPECT_EQ(check_version(*db_, history).value_or(0), 1);
}

}  // namespace
}  // namespace cay::db
