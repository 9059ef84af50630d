// The store after a power cut: any first part of its log, with or without rubbish behind it.
#include "store/power_cut.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/testing/temp_dir.h"
#include "store/store.h"

namespace cay::store {
namespace {

namespace fs = std::filesystem;

class PowerCut : public ::testing::Test {
 protected:
  PowerCut() { fs::create_directory(path_ / "before"); }

  static Result<std::unique_ptr<core::Store>> open(const fs::path& dir, const char* boot) {
    return open_store(dir.string(), {.boot_id = boot});
  }

  // A directory as the disk has it: the database, and this much of its log.
  fs::path cut(std::uintmax_t log_bytes, bool rubbish) {
    const fs::path dir = path_ / ("cut-" + std::to_string(log_bytes) + (rubbish ? "-rubbish" : ""));
    fs::create_directory(dir);
    fs::copy_file(path_ / "before/state.db", dir / "state.db");
    fs::copy_file(path_ / "before/state.db-wal", dir / "state.db-wal");
    fs::resize_file(dir / "state.db-wal", log_bytes);
    if (rubbish)
      std::ofstream(dir / "state.db-wal", std::ios::app | std::ios::binary)
          << std::string(6000, '\x5a');
    return dir;
  }

  static Sandbox row(int number) {
    Sandbox out;
    out.id = SandboxId(std::to_string(number));
    out.tenant = TenantId("a");
    out.name = "box-" + std::to_string(number);
    out.labels = {{"number", std::to_string(number)}};
    out.created_at = number;
    return out;
  }

  const cay::testing::TempDir temp_;
  const fs::path path_ = temp_.path();
};

TEST_F(PowerCut, WhateverPartOfTheLogIsThereTheStoreIsWhole) {
  constexpr int kRows = 12;
  auto store = open(path_ / "before", "boot-a");
  ASSERT_TRUE(store);
  for (int i = 0; i < kRows; ++i) ASSERT_TRUE((*store)->insert(row(i)));
  const auto size = fs::file_size(path_ / "before/state.db-wal");
  const std::uintmax_t step = size / 37 + 1;
  std::size_t most = 0;
  bool fewer = false;
  for (std::uintmax_t bytes = size; bytes > 0; bytes = bytes > step ? bytes - step : 0) {
    for (const bool rubbish : {false, true}) {
      auto after = open(cut(bytes, rubbish), "boot-b");
      ASSERT_TRUE(after) << bytes << ": " << after.error().message;
      const auto rows = (*after)->all();
      ASSERT_TRUE(rows) << bytes;
      const auto events = (*after)->events(TenantId("a"), {});
      ASSERT_TRUE(events) << bytes;
      EXPECT_EQ(events->items.size(), rows->size()) << bytes << ": a row and its event are one";
      for (std::size_t i = 0; i < rows->size(); ++i) {
        EXPECT_EQ(rows->at(i).id.get(), std::to_string(i)) << bytes << ": no hole";
        EXPECT_EQ(rows->at(i).labels.at("number"), std::to_string(i)) << bytes;
      }
      ASSERT_TRUE((*after)->insert(row(100))) << bytes << ": it can be written";
      most = std::max(most, rows->size());
      fewer = fewer || rows->size() < kRows;
    }
  }
  EXPECT_EQ(most, kRows);
  EXPECT_TRUE(fewer);  // positive control: something was cut off
}

std::int64_t number_of_next(core::Store& store, Sandbox sandbox) {
  EXPECT_TRUE(store.insert(sandbox));
  const auto events = store.events(TenantId("a"), {});
  return events && !events->items.empty() ? static_cast<std::int64_t>(events->items.back().seq)
                                          : -1;
}

TEST_F(PowerCut, NumbersOfEventsThatMayHaveBeenToldAreNotGivenAgain) {
  const fs::path dir = path_ / "before";
  {
    auto store = open(dir, "boot-a");
    EXPECT_EQ(number_of_next(**store, row(1)), 1);
  }
  // Closed politely: nothing is lost, whatever boot comes next.
  fs::path cut_dir;
  {
    auto store = open(dir, "boot-b");
    EXPECT_EQ(number_of_next(**store, row(2)), 2);
    cut_dir = cut(fs::file_size(dir / "state.db-wal"), false);
  }
  {  // killed, and the same boot: nothing is lost
    const fs::path again = path_ / "again";
    fs::copy(cut_dir, again);
    auto store = open(again, "boot-b");
    EXPECT_EQ(number_of_next(**store, row(3)), 3);
  }
  auto store = open(cut_dir, "boot-c");
  EXPECT_EQ(number_of_next(**store, row(3)), 2 + kForgottenEventStep + 1);
}

TEST_F(PowerCut, ACommitIsSyncedSoonAndByAnotherThread) {
  auto db = db::Database::open((path_ / "plain.db").string());
  ASSERT_TRUE(db);
  ASSERT_TRUE((*db)->execute("PRAGMA journal_mode = WAL; CREATE TABLE t (x)"));
  const auto failures = db::failures();
  {
    // A directory that is not there: each sync is seen as a failure.
    auto syncing =
        keep_synced(**db, (path_ / "absent").string(), (path_ / "absent/plain.db").string());
    ASSERT_TRUE((*db)->execute("INSERT INTO t VALUES (1)"));
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (db::failures() == failures && std::chrono::steady_clock::now() < end)
      std::this_thread::yield();
    EXPECT_GT(db::failures(), failures);
    (*db)->on_commit([] {});
  }
  const auto now = db::failures();
  {
    auto syncing = keep_synced(**db, path_.string(), (path_ / "plain.db").string());
    ASSERT_TRUE((*db)->execute("INSERT INTO t VALUES (2)"));
    (*db)->on_commit([] {});
  }
  EXPECT_EQ(db::failures(), now);
}

}  // namespace
}  // namespace cay::store
