#include "server/key_ring.h"

#include <gtest/gtest.h>

namespace cay::server {
namespace {

class StandingClock final : public Clock {
 public:
  UnixMillis now = 1'000'000;
  UnixMillis wall() const override { return now; }
  std::chrono::steady_clock::time_point steady() const override { return {}; }
  Millis since_boot() const override { return {}; }
  std::string boot_id() const override { return "b"; }
};

TEST(KeyRingTest, FindsOnlyTheRightKey) {
  KeyRing ring;
  const std::string key = new_key();
  ASSERT_TRUE(ring.add({"first", "t1", hash_key(key)}));
  ASSERT_TRUE(ring.find(key));
  EXPECT_EQ(ring.find(key)->tenant.get(), "t1");
  EXPECT_EQ(ring.find(key)->scope, KeyScope::kCreate);
  EXPECT_EQ(ring.find(key + "x").error().reason, "unknown_key");
  EXPECT_FALSE(ring.find(""));
  EXPECT_FALSE(ring.find(to_hex(hash_key(key))));  // the stored form opens nothing
  EXPECT_EQ(ring.add({"first", "t2", {}}).error().code, Code::kAlreadyExists);
  EXPECT_EQ(ring.add({"a b", "t2", {}}).error().code, Code::kInvalidArgument);
}

TEST(KeyRingTest, NewKeysDifferAndAreLong) {
  EXPECT_NE(new_key(), new_key());
  EXPECT_EQ(new_key().size(), 47u);
}

TEST(KeyRingTest, AKeyEndsAtItsTime) {
  StandingClock clock;
  KeyRing ring(clock);
  ASSERT_TRUE(
      ring.add({.name = "a", .tenant = "t", .hash = hash_key("k"), .expires = clock.now + 10}));
  clock.now += 9;
  EXPECT_TRUE(ring.find("k"));
  clock.now += 1;
  EXPECT_EQ(ring.find("k").error().reason, "expired_key");
}

TEST(KeyRingTest, ARotatedKeyOpensUntilItsGraceIsOver) {
  StandingClock clock;
  KeyRing ring(clock);
  ASSERT_TRUE(ring.add({.name = "a",
                        .tenant = "t",
                        .hash = hash_key("new"),
                        .older = KeyRecord::Older{hash_key("old"), clock.now + 10}}));
  EXPECT_EQ(ring.find("old")->key_name, "a");
  clock.now += 10;
  EXPECT_EQ(ring.find("old").error().reason, "expired_key");
  EXPECT_NE(ring.find("old").error().message.find("use the new one"), std::string::npos);
  EXPECT_EQ(ring.find("old").error().message.find("cay key rotate"), std::string::npos)
      << "that would end the new one";
  EXPECT_TRUE(ring.find("new"));
}

TEST(KeyRingTest, ALinkEndsWithWhatItsKeyCouldDo) {
  StandingClock clock;
  Link link;
  link.sandbox = SandboxId("s");
  link.tenant = TenantId("t");
  link.created_by = "a";
  link.created_at = clock.now;
  const auto stands = [&](KeyRecord record) {
    KeyRing ring(clock);
    EXPECT_TRUE(ring.add(std::move(record)));
    return ring.stands_for(link);
  };
  EXPECT_TRUE(stands({.name = "a", .tenant = "t"}));
  EXPECT_TRUE(
      stands({.name = "a", .tenant = "t", .scope = KeyScope::kUse, .only = SandboxId("s")}));
  EXPECT_TRUE(stands({.name = "a", .tenant = "t", .since = clock.now}));
  EXPECT_FALSE(stands({.name = "b", .tenant = "t"}));
  EXPECT_FALSE(stands({.name = "a", .tenant = "u"}));
  EXPECT_FALSE(stands({.name = "a", .tenant = "t", .scope = KeyScope::kRead}));
  EXPECT_FALSE(
      stands({.name = "a", .tenant = "t", .scope = KeyScope::kUse, .only = SandboxId("other")}));
  EXPECT_FALSE(stands({.name = "a", .tenant = "t", .expires = clock.now}));
  EXPECT_FALSE(stands({.name = "a", .tenant = "t", .since = clock.now + 1}))
      << "made by a key of before";
}

TEST(KeyRingTest, AKeyForOneSandboxNamesIt) {
  KeyRing ring;
  EXPECT_EQ(ring.add({.name = "a", .tenant = "t", .scope = KeyScope::kUse}).error().reason,
            "bad_key_scope");
  EXPECT_EQ(ring.add({.name = "a", .tenant = "t", .only = SandboxId("s")}).error().reason,
            "bad_key_scope");
  ASSERT_TRUE(ring.add({.name = "a",
                        .tenant = "t",
                        .hash = hash_key("k"),
                        .scope = KeyScope::kUse,
                        .only = SandboxId("s")}));
  EXPECT_EQ(ring.find("k")->only, SandboxId("s"));
}

}  // namespace
}  // namespace cay::server
