#include "store/registry_table.h"

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"
#include "core/testing/fake_store.h"
#include "store/store.h"

namespace cay::store {
namespace {

using cay::testing::TempDir;

class EitherRegistryStore : public ::testing::TestWithParam<bool> {
 protected:
  EitherRegistryStore() { open(); }
  void open() {
    if (GetParam()) {
      store.reset();
      auto opened = open_store(dir.path());
      EXPECT_TRUE(opened);
      store = *std::move(opened);
    } else if (!store) {
      store = std::make_unique<core::testing::FakeStore>();
    }
  }
  core::ImageRegistryStore& kept() { return store->image_registries(); }

  TempDir dir;
  std::unique_ptr<core::Store> store;
};

core::StoredImageRegistry registry(const char* id, const char* tenant, const char* name) {
  return {.info = {.id = RegistryId(id),
                   .tenant = TenantId(tenant),
                   .name = name,
                   .url = "r.test",
                   .username = "me",
                   .created_by = "key",
                   .updated_by = "other",
                   .created_at = 7,
                   .updated_at = 8},
          .password = "p:w"};
}

TEST_P(EitherRegistryStore, ARowIsKeptAndReplacedAndGoes) {
  ASSERT_TRUE(kept().put(registry("1", "a", "second")));
  ASSERT_TRUE(kept().put(registry("2", "a", "first")));
  ASSERT_TRUE(kept().put(registry("3", "b", "second")));
  EXPECT_EQ(kept().put(registry("4", "a", "first")).error().reason, "registry_exists");
  open();
  auto rows = *kept().of(TenantId("a"));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].info.id, RegistryId("2"));
  EXPECT_EQ(rows[1].info.id, RegistryId("1"));
  const auto& row = rows[1];
  EXPECT_EQ(row.info.tenant, TenantId("a"));
  EXPECT_EQ(row.info.name, "second");
  EXPECT_EQ(row.info.url, "r.test");
  EXPECT_EQ(row.info.username, "me");
  EXPECT_EQ(row.info.created_by, "key");
  EXPECT_EQ(row.info.updated_by, "other");
  EXPECT_EQ(row.info.created_at, 7);
  EXPECT_EQ(row.info.updated_at, 8);
  EXPECT_EQ(row.password, "p:w");
  auto changed = row;
  changed.info.name = "third";
  changed.password = "new";
  ASSERT_TRUE(kept().put(changed));
  changed.info.name = "first";
  EXPECT_EQ(kept().put(changed).error().reason, "registry_exists");
  ASSERT_TRUE(kept().erase(RegistryId("2")));
  ASSERT_TRUE(kept().erase(RegistryId("2")));
  rows = *kept().of(TenantId("a"));
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].info.name, "third");
  EXPECT_EQ(rows[0].password, "new");
  EXPECT_EQ(kept().of(TenantId("b"))->size(), 1U);
}

INSTANTIATE_TEST_SUITE_P(Stores, EitherRegistryStore, ::testing::Values(true, false),
                         [](const auto& info) { return info.param ? "Sqlite" : "Fake"; });

}  // namespace
}  // namespace cay::store
