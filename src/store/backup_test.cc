// Copies for backups: whole while somebody writes, and settled when they come back.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/testing/temp_dir.h"
#include "store/backup.h"
#include "store/schema.h"
#include "db/database.h"
#include "store/store.h"

namespace cay::store {
namespace {

class BackupTest : public ::testing::Test {
 protected:
  static Sandbox row(const std::string& id, SandboxState state) {
    Sandbox sandbox;
    sandbox.id = SandboxId(id);
    sandbox.tenant = TenantId("t");
    sandbox.name = "n" + id;
    sandbox.state = state;
    return sandbox;
  }
  const cay::testing::TempDir temp;
  const std::string& dir = temp.path();
};

TEST_F(BackupTest, CopiesWhileTheDaemonHasItOpen) {
  auto store = open_store(dir);
  ASSERT_TRUE(store);
  ASSERT_TRUE((*store)->insert(row("1", SandboxState::kReady)));
  const std::string copy = dir + "/copy.db";
  ASSERT_TRUE(db::copy_database(dir + "/state.db", copy));
  ASSERT_TRUE((*store)->insert(row("2", SandboxState::kReady)));
  struct stat info{};
  ASSERT_EQ(::stat(copy.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  const auto rows = sandboxes_in(copy);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->at(0).name, "n1");
  EXPECT_EQ(rows->at(0).state, "ready");
  EXPECT_FALSE(std::filesystem::exists(copy + "-wal"));
  EXPECT_FALSE(db::copy_database(dir + "/state.db", copy)) << "nothing is overwritten";
}

TEST_F(BackupTest, WhatRanIsStoppedInARestoredCopy) {
  {
    auto store = open_store(dir);
    ASSERT_TRUE((*store)->insert(row("1", SandboxState::kReady)));
    ASSERT_TRUE((*store)->insert(row("2", SandboxState::kFailed)));
    ASSERT_TRUE((*store)->insert(row("3", SandboxState::kPaused)));
    ASSERT_TRUE((*store)->insert(row("4", SandboxState::kStopped)));
  }
  const std::string copy = dir + "/copy.db";
  ASSERT_TRUE(db::copy_database(dir + "/state.db", copy));
  const auto without_disk =
      settle_restored(copy, {.now = 77, .taken_at = 70, .disks = {"1", "2", "3"}});
  ASSERT_TRUE(without_disk);
  EXPECT_EQ(*without_disk, std::vector<std::string>{"n4"});
  std::filesystem::rename(copy, dir + "/state.db");
  std::filesystem::remove(dir + "/state.db-wal");
  auto store = open_store(dir);
  ASSERT_TRUE(store);
  const auto rows = (*store)->all();
  ASSERT_EQ(rows->size(), 3U);
  EXPECT_EQ(rows->at(0).state, SandboxState::kStopped);
  EXPECT_EQ(rows->at(0).stopped_at, 77);
  EXPECT_EQ(rows->at(1).state, SandboxState::kFailed);
  EXPECT_EQ(rows->at(2).state, SandboxState::kStopped) << "paused is running";
  for (const auto& one : *rows) {
    EXPECT_EQ(one.marks.stopped, 77) << "its time after a stop begins anew";
    EXPECT_EQ(one.marks.created, 7) << "the time since the backup is none of its life";
  }
  EXPECT_EQ((*store)->get_meta("timeline")->value_or(""), "restored 0 77 77")
      << "the marks' own time, of no boot";
  ASSERT_TRUE((*store)->insert(row("5", SandboxState::kReady)));
  EventQuery all;
  all.from_oldest = true;
  all.limit = 10;
  const auto events = (*store)->events(TenantId("t"), all);
  ASSERT_TRUE(events);
  EXPECT_EQ(events->items.size(), 5U) << "what was told before is still there";
  EXPECT_EQ(events->last, 4U + kRestoredEventStep + 1) << "a number is given once";
}

TEST_F(BackupTest, ANewerSchemaIsRefused) {
  {
    ASSERT_TRUE(open_store(dir));
  }
  {
    auto db = db::Database::open(dir + "/state.db");
    ASSERT_TRUE((*db)->execute("PRAGMA user_version = 99"));
  }
  EXPECT_EQ(sandboxes_in(dir + "/state.db").error().reason, "store_too_new");
  EXPECT_EQ(
      settle_restored(dir + "/state.db", {.now = 1, .taken_at = 0, .disks = {}}).error().reason,
      "store_too_new");
}

TEST_F(BackupTest, LayersComeAfterThoseBelowAndVolumesByName) {
  {
    auto store = open_store(dir);
    for (const auto& [id, below] : {std::pair("a", "c"), {"b", ""}, {"c", "b"}}) {
      LayerRow layer;
      layer.id = LayerId(id);
      layer.below = LayerId(below);
      ASSERT_TRUE((*store)->snapshots().put_layer(layer));
    }
    Volume volume;
    volume.id = VolumeId("v");
    volume.name = "data";
    volume.disk_bytes = 5;
    ASSERT_TRUE((*store)->volumes().put(volume));
    Sandbox old = row("1", SandboxState::kReady), newer = row("2", SandboxState::kReady);
    old.snapshot_id = SnapshotId("s");
    newer.snapshot_id = SnapshotId("s");
    newer.layer = LayerId("a");
    ASSERT_TRUE((*store)->insert(old) && (*store)->insert(newer));
  }
  const auto layers = layers_in(dir + "/state.db");
  ASSERT_TRUE(layers) << layers.error().message;
  EXPECT_EQ(*layers, (std::vector<std::string>{"b", "c", "a"}));
  const auto volumes = volumes_in(dir + "/state.db");
  ASSERT_TRUE(volumes && volumes->size() == 1);
  EXPECT_EQ(volumes->front().disk_bytes, 5U);
  const auto rows = sandboxes_in(dir + "/state.db");
  ASSERT_TRUE(rows && rows->size() == 2);
  EXPECT_EQ(rows->at(0).layer, "s") << "of before there were layers";
  EXPECT_EQ(rows->at(1).layer, "a");
}

TEST_F(BackupTest, AnOldDatabaseHasNoLayers) {
  {
    auto db = open_database(dir + "/state.db");
    ASSERT_TRUE(db && migrate(**db, 14));
  }
  EXPECT_TRUE(layers_in(dir + "/state.db")->empty());
  EXPECT_TRUE(volumes_in(dir + "/state.db")->empty());
  EXPECT_TRUE(sandboxes_in(dir + "/state.db")->empty());
}

}  // namespace
}  // namespace cay::store
