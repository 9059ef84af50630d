#include "vault/routes_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "async/testing.h"
#include "base/testing/temp_dir.h"
#include "os/file.h"
#include "vault/broker_client.h"
#include "wire/routes_file.h"

namespace cay::vault {
namespace {

class RoutesFileTest : public ::testing::Test {
 protected:
  std::optional<wire::WrittenRoutes> read(const std::string& id) const {
    const auto bytes = os::read_file(AT_FDCWD, data + "/rules/" + id + ".routes");
    return bytes ? wire::decode<wire::WrittenRoutes>(*bytes) : std::nullopt;
  }
  static core::ProxyGrant fence(const std::string& id, const std::string& host) {
    ProxyRule rule;
    rule.name = "fence";
    rule.hosts = {host};
    return {SandboxId(id), TenantId("t"), {{rule, StoredSecret{}}}};
  }

  const cay::testing::TempDir temp;
  const std::string data = temp.path();
};

TEST_F(RoutesFileTest, ItIsWrittenWholeAndRemovedWhereThereIsNoRule) {
  wire::BrokerRoutes routes;
  routes.sandbox_id = "one";
  EXPECT_FALSE(*write_routes(data, routes)) << "there is nothing to remove";
  routes.fences = {"a.test"};
  EXPECT_EQ(write_routes(data, routes).error().reason, "policy_not_in_force")
      << "no gate has begun";
  std::filesystem::create_directory(data + "/rules");
  ASSERT_TRUE(*write_routes(data, routes));
  EXPECT_FALSE(*write_routes(data, routes)) << "it is the same";
  struct stat info{};
  ASSERT_EQ(::stat((data + "/rules/one.routes").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644U) << "whatever the umask";
  ASSERT_TRUE(read("one"));
  EXPECT_TRUE(read("one")->whole);
  EXPECT_EQ(read("one")->routes.fences, routes.fences);
  EXPECT_EQ(routes_written(data), std::vector<std::string>{"one"});
  routes.fences.clear();
  EXPECT_TRUE(*write_routes(data, routes));
  EXPECT_TRUE(routes_written(data).empty());
}

TEST_F(RoutesFileTest, TheGateIsToKnowOfRulesWhereNoBrokerAnswers) {
  std::filesystem::create_directory(data + "/rules");
  asio::io_context loop;
  std::vector<std::string> told;
  BrokerClient client(loop.get_executor(), data, [&told](SandboxId id) -> Task<void> {
    told.push_back(id.get());
    co_return Result<void>();
  });
  wire::BrokerRoutes stale;
  stale.sandbox_id = "stale";
  stale.base_url = true;
  ASSERT_TRUE(write_routes(data, stale));
  auto kept =
      client.keep_only({fence("one", "a.test")});  // written on return, before any request is sent
  EXPECT_EQ(routes_written(data), std::vector<std::string>{"one"});
  EXPECT_EQ(cay::testing::run(loop, std::move(kept)).error().reason, "vault_unavailable");
  EXPECT_EQ(told, (std::vector<std::string>{"one", "stale"}));
  auto former = client.grant(fence("one", "b.test"));
  auto newer = client.grant(fence("one", "c.test"));
  EXPECT_EQ(cay::testing::run(loop, std::move(newer)).error().reason, "vault_unavailable");
  EXPECT_EQ(cay::testing::run(loop, std::move(former)).error().reason, "vault_unavailable");
  EXPECT_EQ(read("one")->routes.fences, std::vector<std::string>{"c.test"})
      << "whichever comes later to its broker";
  auto revoked = client.revoke(SandboxId("one"));
  EXPECT_EQ(cay::testing::run(loop, std::move(revoked)).error().reason, "vault_unavailable");
  EXPECT_TRUE(routes_written(data).empty());
}

}  // namespace
}  // namespace cay::vault
