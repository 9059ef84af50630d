#include "api/daytona/contexts.h"

#include <gtest/gtest.h>

namespace cay::api::daytona {
namespace {

const TenantId kOne("one");
const TenantId kTwo("two");

std::string key(const TenantId& tenant, int number) {
  return tenant.get() + "/h" + std::to_string(number) + "/context.tar";
}

TEST(ContextsTest, ATenantDropsAndSeesItsOwnAlone) {
  Contexts all;
  ASSERT_TRUE(all.put(kOne, key(kOne, 0), "small"));
  const std::string large(Contexts::kMostBytes, 'x');
  constexpr int kTooMany = static_cast<int>(Contexts::kMostOfTenant / Contexts::kMostBytes) + 1;
  for (int i = 0; i < kTooMany; ++i) ASSERT_TRUE(all.put(kTwo, key(kTwo, i), large));
  EXPECT_EQ(all.size_of(kTwo, key(kTwo, 0)), 0u) << "its oldest went";
  EXPECT_EQ(all.size_of(kTwo, key(kTwo, kTooMany - 1)), large.size());
  EXPECT_EQ(all.size_of(kOne, key(kOne, 0)), 5u);
  EXPECT_TRUE(all.has(kOne, "one/h0/"));
  EXPECT_FALSE(all.has(kTwo, "one/h0/"));
  EXPECT_EQ(all.size_of(kTwo, key(kOne, 0)), 0u);
  EXPECT_FALSE(all.put(kTwo, key(kOne, 0), "tar"));
  EXPECT_FALSE(all.joined(kTwo, {"h0"}));
}

TEST(ContextsTest, ManyTenantsAreRefusedAndDropNobodys) {
  Contexts all;
  const std::string large(Contexts::kMostBytes, 'x');
  constexpr int kTenants = static_cast<int>(Contexts::kMostOfAll / Contexts::kMostBytes);
  for (int i = 0; i < kTenants; ++i) {
    const TenantId tenant("t" + std::to_string(i));
    ASSERT_TRUE(all.put(tenant, key(tenant, 0), large));
  }
  const auto refused = all.put(kOne, key(kOne, 0), "tar");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "no_context_room");
  EXPECT_EQ(all.size_of(TenantId("t0"), "t0/h0/context.tar"), large.size());
  // A tenant's own archive makes room for its next one.
  ASSERT_TRUE(all.put(TenantId("t0"), "t0/h0/context.tar", "new"));
}

TEST(ContextsTest, UploadsAreOfATenantAndCount) {
  Contexts all;
  const std::string id = all.begin(kOne, key(kOne, 0));
  EXPECT_FALSE(all.put_part(kTwo, id, 1, "x"));
  all.give_up(kTwo, id);
  for (std::size_t i = 0; i < Contexts::kMostUploads; ++i) all.begin(kTwo, key(kTwo, 1));
  ASSERT_TRUE(all.put_part(kOne, id, 1, "tar"));
  EXPECT_FALSE(all.complete(kTwo, id));
  ASSERT_TRUE(all.complete(kOne, id));
  EXPECT_EQ(all.size_of(kOne, key(kOne, 0)), 3u);

  const std::string half(Contexts::kMostBytes / 2, 'x');
  const std::string large = all.begin(kOne, key(kOne, 1));
  ASSERT_TRUE(all.put_part(kOne, large, 1, half));
  ASSERT_TRUE(all.put_part(kOne, large, 2, half));
  EXPECT_EQ(all.put_part(kOne, large, 3, "x").error().reason, "context_too_large");
  EXPECT_EQ(all.complete(kOne, large).error().reason, "no_such_upload");
}

}  // namespace
}  // namespace cay::api::daytona
