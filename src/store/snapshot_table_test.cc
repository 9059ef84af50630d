// Snapshots, tags, layers and volumes: the same tests for the real store and for the fake.
#include "store/snapshot_table.h"

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"
#include "core/testing/fake_store.h"
#include "store/schema.h"
#include "store/store.h"

namespace cay::store {
namespace {

using cay::testing::TempDir;

SnapshotInfo full_snapshot() {
  SnapshotInfo out;
  out.id = SnapshotId("s");
  out.tenant = TenantId("a");
  out.name = "team/app";
  out.status = kSnapshotReady;
  out.fingerprint = "f";
  out.used_bytes = 1ull << 40;
  out.created_at = 8;
  out.runtime = "other";
  out.layer = LayerId("l");
  out.origin = kFromRegistry;
  out.image_name = "team/app:1";
  out.digest = "sha256:x";
  out.registry = "r";
  out.status_message = "it's \"ready\"";
  out.source_sandbox = SandboxId("b");
  out.config.run = {.user = "", .workdir = "/srv", .env = {{"A", std::string("\xff\x00z", 3)}}};
  out.config.entrypoint = {"/entry", ""};
  out.config.command = {"serve"};
  out.config.labels = {{"k", "v"}};
  out.config.ports = {"80/tcp"};
  out.disk_bytes = 5;
  out.created_by = "key";
  out.updated_at = 9;
  return out;
}

bool same(const SnapshotInfo& a, const SnapshotInfo& b) {
  return a.id == b.id && a.tenant == b.tenant && a.name == b.name && a.status == b.status &&
         a.fingerprint == b.fingerprint && a.used_bytes == b.used_bytes &&
         a.created_at == b.created_at && a.runtime == b.runtime && a.layer == b.layer &&
         a.origin == b.origin && a.image_name == b.image_name && a.digest == b.digest &&
         a.registry == b.registry && a.status_message == b.status_message &&
         a.source_sandbox == b.source_sandbox && a.config == b.config &&
         a.disk_bytes == b.disk_bytes && a.created_by == b.created_by &&
         a.updated_at == b.updated_at;
}

class EitherSnapshotStore : public ::testing::TestWithParam<bool> {
 protected:
  EitherSnapshotStore() {
    if (GetParam()) {
      auto opened = open_store(dir.path());
      EXPECT_TRUE(opened) << opened.error().message;
      store = *std::move(opened);
    } else {
      store = std::make_unique<core::testing::FakeStore>();
    }
  }
  std::vector<SnapshotInfo> all() {
    auto rows = store->snapshots().all();
    EXPECT_TRUE(rows);
    return *std::move(rows);
  }

  TempDir dir;
  std::unique_ptr<core::Store> store;
};

TEST_P(EitherSnapshotStore, ARowComesBackAsItWasAndIsReplaced) {
  SnapshotInfo snapshot = full_snapshot();
  ASSERT_TRUE(store->snapshots().put(snapshot));
  ASSERT_EQ(all().size(), 1U);
  EXPECT_TRUE(same(all().front(), snapshot));
  EXPECT_TRUE(all().front().tags.empty());
  snapshot.status = kSnapshotFailed;
  snapshot.config = {};
  ASSERT_TRUE(store->snapshots().put(snapshot));
  ASSERT_EQ(all().size(), 1U);
  EXPECT_TRUE(same(all().front(), snapshot));
}

TEST_P(EitherSnapshotStore, ATagMovesAndGoesWithItsSnapshot) {
  SnapshotInfo first = full_snapshot();
  ASSERT_TRUE(store->snapshots().put_tagged(first, "latest"));
  ASSERT_TRUE(store->snapshots().put_tagged(first, "1"));
  SnapshotInfo second = first;
  second.id = SnapshotId("t");
  second.created_at = first.created_at + 1;
  ASSERT_TRUE(store->snapshots().put_tagged(second, "latest"));
  SnapshotInfo other = second;  // another tenant's tag of the same name is another
  other.id = SnapshotId("u");
  other.tenant = TenantId();
  other.created_at = second.created_at + 1;
  ASSERT_TRUE(store->snapshots().put_tagged(other, "latest"));
  using Tags = std::vector<std::string>;
  ASSERT_EQ(all().size(), 3U);
  EXPECT_EQ(all().at(0).tags, Tags{"1"});
  EXPECT_EQ(all().at(1).tags, Tags{"latest"});
  EXPECT_EQ(all().at(2).tags, Tags{"latest"});
  ASSERT_TRUE(store->snapshots().put(second));  // a plain write leaves the tags alone
  EXPECT_EQ(all().at(1).tags, Tags{"latest"});
  ASSERT_TRUE(store->snapshots().erase(second.id));
  ASSERT_TRUE(store->snapshots().erase(second.id));
  ASSERT_EQ(all().size(), 2U);
  second.id = SnapshotId("v");
  ASSERT_TRUE(store->snapshots().put(second));
  for (const auto& one : all()) EXPECT_EQ(one.id == second.id, one.tags.empty());
}

TEST_P(EitherSnapshotStore, LayersAreKept) {
  const LayerRow layer{.id = LayerId("l"),
                       .below = LayerId("k"),
                       .chain = "sha256:c",
                       .bytes = 3,
                       .created_at = 4,
                       .used_at = 5};
  ASSERT_TRUE(store->snapshots().put_layer(layer));
  const auto rows = *store->snapshots().layers();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows.front().below, layer.below);
  EXPECT_EQ(rows.front().chain, layer.chain);
  EXPECT_EQ(rows.front().bytes, 3U);
  EXPECT_EQ(rows.front().created_at, 4);
  EXPECT_EQ(rows.front().used_at, 5);
  ASSERT_TRUE(store->snapshots().erase_layer(layer.id));
  EXPECT_TRUE(store->snapshots().layers()->empty());
}

TEST_P(EitherSnapshotStore, VolumesHaveANameInTheirTenant) {
  Volume volume{VolumeId("v"), TenantId("a"), "data", 7, "key", 8};
  ASSERT_TRUE(store->volumes().put(volume));
  volume.disk_bytes = 9;
  ASSERT_TRUE(store->volumes().put(volume));
  const Volume twin{VolumeId("w"), TenantId("a"), "data", 7, "key", 8};
  EXPECT_EQ(store->volumes().put(twin).error().reason, "volume_exists");
  const Volume others{VolumeId("w"), TenantId("b"), "data", 7, "key", 8};
  ASSERT_TRUE(store->volumes().put(others));
  ASSERT_EQ(store->volumes().all()->size(), 2U);
  EXPECT_EQ(store->volumes().all()->front().disk_bytes, 9U);
  ASSERT_TRUE(store->volumes().erase(volume.id));
  EXPECT_EQ(store->volumes().all()->size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Stores, EitherSnapshotStore, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "Sqlite" : "Fake"; });

TEST(SnapshotFile, AnOlderDaemonsSnapshotIsALayerOfItsOwnId) {
  constexpr int kBeforeLayers = 14;
  const TempDir dir;
  {
    auto db = db::Database::open(dir.path() + "/state.db");
    ASSERT_TRUE(db);
    ASSERT_TRUE(migrate(**db, kBeforeLayers));
    ASSERT_TRUE((*db)->execute(
        "INSERT INTO snapshot (id, tenant, name, status, fingerprint, used_bytes, created_at) "
        "VALUES ('s', '', 'default', 'ready', 'f', 7, 8)"));
  }
  auto store = open_store(dir.path());
  ASSERT_TRUE(store) << store.error().message;
  const auto all = *(*store)->snapshots().all();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all.front().layer, LayerId("s"));
  EXPECT_EQ(all.front().origin, kFromHost);
  EXPECT_EQ(all.front().updated_at, 8);
  EXPECT_EQ(all.front().config, ImageConfig{});
}

}  // namespace
}  // namespace cay::store
