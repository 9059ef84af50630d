#include "db/database.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/testing/temp_dir.h"

namespace cay::db {
namespace {

using cay::testing::TempDir;

class DatabaseTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(db_->execute("CREATE TABLE t (k TEXT UNIQUE, n INTEGER)")); }
  Result<void> put(const std::optional<std::string>& key, std::optional<std::int64_t> number) {
    CAY_TRY(Statement row, db_->prepare("INSERT INTO t VALUES (?, ?)"));
    return row.bind(key).bind(number).run();
  }
  std::int64_t count() {
    auto row = db_->prepare("SELECT count(*) FROM t");
    EXPECT_TRUE(*row->step());
    return row->number(0);
  }

  const TempDir dir_;
  const std::string path_ = dir_.path() + "/x.db";
  std::unique_ptr<Database> db_ = *Database::open(path_, {"the boxes (x.db)", "throw them away"});
};

TEST_F(DatabaseTest, ValuesThereAndBack) {
  const std::string bytes("a\0'\xff", 4);
  ASSERT_TRUE(put(bytes, -3));
  ASSERT_TRUE(put(std::nullopt, std::nullopt));
  auto rows = db_->prepare_once("SELECT k, n FROM t ORDER BY n DESC");
  ASSERT_TRUE(*rows->step());
  EXPECT_EQ(rows->text(0), bytes);
  EXPECT_EQ(rows->number(1), -3);
  ASSERT_TRUE(*rows->step());
  EXPECT_TRUE(rows->is_null(0) && rows->is_null(1));
  EXPECT_FALSE(*rows->step());
}

TEST_F(DatabaseTest, ABrokenConstraintIsTheCallersAndNoFailure) {
  const auto before = failures();
  ASSERT_TRUE(put("a", 1));
  const auto twice = put("a", 2);
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error().code, Code::kAlreadyExists);
  EXPECT_EQ(twice.error().reason, "unique");
  EXPECT_EQ(failures(), before);
  EXPECT_FALSE(db_->execute("SELECT * FROM nowhere"));
  EXPECT_EQ(failures(), before + 1);
}

TEST_F(DatabaseTest, ATransactionThatIsNotCommittedIsRolledBack) {
  {
    auto transaction = Transaction::begin(*db_);
    ASSERT_TRUE(transaction && put("a", 1));
  }
  EXPECT_EQ(count(), 0);
  {
    auto transaction = Transaction::begin(*db_);
    ASSERT_TRUE(transaction && put("a", 1) && transaction->commit());
  }
  EXPECT_EQ(count(), 1);
}

TEST_F(DatabaseTest, AnErrorNamesTheDatabaseAndItsRemedy) {
  const auto typo = db_->execute("SELEC 1");
  ASSERT_FALSE(typo);
  EXPECT_EQ(typo.error().code, Code::kUnavailable);
  EXPECT_EQ(typo.error().reason, "store_failed");
  EXPECT_TRUE(typo.error().message.starts_with("the boxes (x.db) failed: near"))
      << typo.error().message;
  const std::string other = dir_.path() + "/other.db";
  std::ofstream(other) << std::string(4096, 'x');
  auto damaged = Database::open(other, {"the boxes (x.db)", "throw them away"});
  ASSERT_TRUE(damaged);
  const auto read = (*damaged)->execute("SELECT * FROM sqlite_schema");
  ASSERT_FALSE(read);
  EXPECT_TRUE(read.error().message.ends_with("; throw them away")) << read.error().message;
}

TEST_F(DatabaseTest, ACopyHasWhatWasCommittedAndOverwritesNothing) {
  ASSERT_TRUE(put("a", 1));
  const std::string copy = dir_.path() + "/copy.db";
  ASSERT_TRUE(copy_database(path_, copy));
  EXPECT_FALSE(copy_database(path_, copy));
  db_ = *Database::open(copy);
  EXPECT_EQ(count(), 1);
}

}  // namespace
}  // namespace cay::db
