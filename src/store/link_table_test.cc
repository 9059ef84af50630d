#include "store/store.h"

#include <gtest/gtest.h>

#include "base/testing/temp_dir.h"

namespace cay::store {
namespace {

class LinkTableTest : public ::testing::Test {
 protected:
  LinkTableTest() {
    open();
    sandbox.id = SandboxId(new_uuid());
    sandbox.tenant = TenantId("t");
    sandbox.name = "box";
    EXPECT_TRUE(store->insert(sandbox));
  }
  void open() {
    store.reset();
    auto opened = open_store(dir.path());
    ASSERT_TRUE(opened) << opened.error().message;
    store = *std::move(opened);
  }
  Link link(const SandboxId& of) {
    Link out;
    out.id = LinkId(new_uuid());
    out.sandbox = of;
    out.tenant = TenantId("t");
    out.spec.path = "/tmp/a b";
    out.spec.user = "user";
    out.spec.workdir = "/home/user";
    out.spec.content_type = "text/plain";
    out.spec.inline_shown = true;
    out.created_by = "key";
    out.created_at = 5;
    out.hash = hash_secret("secret");
    return out;
  }

  const cay::testing::TempDir dir;
  std::unique_ptr<core::Store> store;
  Sandbox sandbox;
};

TEST_F(LinkTableTest, LinksComeBackAsTheyWere) {
  Link file = link(sandbox.id);
  ASSERT_TRUE(store->put_link(file));
  Link service = link(sandbox.id);
  service.spec = LinkSpec{.port = 8080, .lifetime_s = 60};
  service.expires_at = 60'005;
  service.expires_mark = 60'000;
  ASSERT_TRUE(store->put_link(service));
  open();
  const auto rows = store->links();
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 2U);
  const Link& first = (*rows)[0].id == file.id ? (*rows)[0] : (*rows)[1];
  const Link& second = (*rows)[0].id == file.id ? (*rows)[1] : (*rows)[0];
  EXPECT_EQ(first.spec.path, "/tmp/a b");
  EXPECT_EQ(first.spec.workdir, "/home/user");
  EXPECT_TRUE(first.spec.inline_shown);
  EXPECT_FALSE(first.expires_at);
  EXPECT_EQ(first.hash, hash_secret("secret"));
  EXPECT_EQ(second.spec.port, 8080);
  EXPECT_EQ(second.spec.lifetime_s, 60);
  EXPECT_EQ(second.expires_mark, 60'000);
}

TEST_F(LinkTableTest, TheyGoByNameAndWithTheirSandbox) {
  const Link one = link(sandbox.id), two = link(sandbox.id);
  ASSERT_TRUE(store->put_link(one));
  ASSERT_TRUE(store->put_link(two));
  EXPECT_TRUE(store->erase_links({one.id, LinkId("none")}));
  EXPECT_EQ(store->links()->size(), 1U);
  EXPECT_TRUE(store->erase(sandbox.id));
  EXPECT_TRUE(store->links()->empty());
  EXPECT_EQ(store->put_link(link(sandbox.id)).error().code, Code::kNotFound);
}

}  // namespace
}  // namespace cay::store
