#include "store/secret_table.h"

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"
#include "store/store.h"

namespace cay::store {
namespace {

class SecretTableTest : public ::testing::Test {
 protected:
  SecretTableTest() { open(); }
  void open() {
    store.reset();
    auto made = open_store(dir.path(), {});
    EXPECT_TRUE(made) << made.error().message;
    store = *std::move(made);
  }
  static StoredSecret secret(const std::string& tenant, const std::string& name) {
    StoredSecret out;
    out.info = {TenantId(tenant), name, {"a.test", "*.b.test:8443"}, 3, "key", 10, 20};
    out.sealed = std::string("\0\xff sealed \x01", 11);
    return out;
  }
  const cay::testing::TempDir dir;
  std::unique_ptr<core::Store> store;
};

TEST_F(SecretTableTest, WhatIsKeptIsThereAfterARestart) {
  ASSERT_TRUE(store->put_secret(secret("t", "one")));
  ASSERT_TRUE(store->put_secret(secret("u", "one")));
  StoredSecret next = secret("t", "one");
  next.info.version = 4;
  next.sealed = "other";
  ASSERT_TRUE(store->put_secret(next));
  open();
  auto rows = store->secrets();
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ(rows->at(0).sealed, "other");
  EXPECT_EQ(rows->at(0).info.version, 4U);
  EXPECT_EQ(rows->at(1).sealed, secret("u", "one").sealed);
  EXPECT_EQ(rows->at(1).info.hosts, secret("u", "one").info.hosts);
  EXPECT_EQ(rows->at(1).info.created_at, 10);
  ASSERT_TRUE(store->erase_secret(TenantId("t"), "one"));
  ASSERT_TRUE(store->erase_secret(TenantId("t"), "one")) << "again is no harm";
  EXPECT_EQ(store->secrets()->size(), 1U);
}

TEST_F(SecretTableTest, RulesComeBackAsTheyWere) {
  ProxyRule rule;
  rule.name = "a";
  rule.secret = "b";
  rule.way = ProxyWay::kPlaceholder;
  rule.hosts = {"a.test"};
  rule.methods = {"GET"};
  rule.gone = true;
  rule.gone_hosts = {"a.test"};
  rule.paths = {"/v1/*"};
  rule.headers = {{"X-Key", "", ""}, {"Authorization", "", "me"}};
  rule.env = {{"A", "\xff ${TOKEN}"}};
  rule.token = "T";
  const auto back = decode_rules(encode_rules({rule}));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->at(0), rule);
  const auto older = decode_rules(
      R"([{"name":"a","secret":"b","way":"headers","hosts":[],"paths":["/v1/*","*","/a**b"],)"
      R"("headers":[],"env":{},"token":"T"}])");
  ASSERT_TRUE(older) << "of before rules had methods";
  EXPECT_EQ(older->at(0).paths, (std::vector<std::string>{"/v1/**", "**", "/a**b"}))
      << "'*' went over slashes";
  EXPECT_TRUE(older->at(0).methods.empty());
  EXPECT_FALSE(older->at(0).gone);
  EXPECT_TRUE(decode_rules("[]")->empty());
  for (const char* text : {"", "{}", "[1]", "[{}]", R"([{"name":1}])"})
    EXPECT_FALSE(decode_rules(text)) << text;
}

}  // namespace
}  // namespace cay::store
