#include "store/setting_columns.h"

#include <gtest/gtest.h>

#include <concepts>
#include <type_traits>

#include "base/testing/temp_dir.h"
#include "store/rows.h"
#include "store/schema.h"

namespace cay::store {
namespace {

using cay::testing::TempDir;

// Settings that no code but this table names.
struct Box {
  std::string colour;
  bool lid = false;
  std::int64_t keep_s = 0;
  Profile profile = Profile::kDefault;
  TmpfsMounts rooms{};
  VolumeMounts drawers{};
  PathList notes{};
  bool operator==(const Box&) const = default;
};
template <class Object, class Visit>
  requires std::same_as<std::remove_const_t<Object>, Box>
void visit_settings(Object& box, Visit&& visit) {
  visit(Setting{"colour"}, box.colour);
  visit(Setting{"lid"}, box.lid);
  visit(Setting{"keep_s"}, box.keep_s);
  visit(Setting{"profile"}, box.profile);
  visit(Setting{"rooms"}, box.rooms);
  visit(Setting{"drawers"}, box.drawers);
  visit(Setting{"notes"}, box.notes);
}

class SettingColumnsTest : public ::testing::Test {
 protected:
  SettingColumnsTest() {
    std::string names;
    for (const std::string& name : setting_columns<Box>())
      names += (names.empty() ? "" : ", ") + name;
    select_ = "SELECT " + names + " FROM box";
    EXPECT_TRUE(db_->execute("CREATE TABLE box (" + names + ")"));
  }
  void put(const Box& box) {
    auto row = db_->prepare_once("INSERT INTO box VALUES (?, ?, ?, ?, ?, ?, ?)");
    bind_settings(*row, box);
    EXPECT_TRUE(row->run());
  }
  Result<Box> got() {
    CAY_TRY(db::Statement row, db_->prepare_once(select_));
    CAY_TRY(const bool found, row.step());
    EXPECT_TRUE(found);
    Box out;
    CAY_CHECK(read_settings(row, 0, out));
    return out;
  }

  const TempDir dir_;
  std::unique_ptr<db::Database> db_ = *db::Database::open(dir_.path() + "/x.db");
  std::string select_;
};

TEST_F(SettingColumnsTest, ValuesThereAndBack) {
  EXPECT_EQ(setting_columns<Box>(), (std::vector<std::string>{"colour", "lid", "keep_s", "profile",
                                                              "rooms", "drawers", "notes"}));
  const Box box{"red",
                true,
                60,
                Profile::kNested,
                {{"/a", 5}, {"/b", 1ull << 40}},
                {{.volume = "v", .path = "/v", .read_only = true},
                 {.volume = "w", .path = "/\xff", .shared = true}},
                {"/\xff", "/b"}};
  put(box);
  const auto read = got();
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, box);
}

TEST_F(SettingColumnsTest, WhatWasNeverWrittenIsRefused) {
  put({});
  for (const char* sql :
       {"UPDATE box SET rooms = '{\"/a\":\"5x\"}'", "UPDATE box SET rooms = '[]'",
        "UPDATE box SET rooms = '{}', profile = 'loose'",
        "UPDATE box SET profile = 'strict', drawers = '{}'",
        "UPDATE box SET drawers = '[{\"path\":\"/a\"}]'",
        "UPDATE box SET drawers = '[]', notes = '{}'", "UPDATE box SET notes = '[1]'"}) {
    ASSERT_TRUE(db_->execute(sql));
    const auto read = got();
    ASSERT_FALSE(read) << sql;
    EXPECT_EQ(read.error().reason, "store_broken");
  }
}

TEST(SettingColumns, TheSchemaHasOneForEachSettingOfASandbox) {
  const TempDir dir;
  auto db = open_database(dir.path() + "/state.db");
  ASSERT_TRUE(db && migrate(**db));
  for (const std::string& name : setting_columns<Sandbox>()) {
    EXPECT_TRUE((*db)->prepare_once("SELECT " + name + " FROM sandbox")) << name;
  }
}

}  // namespace
}  // namespace cay::store
