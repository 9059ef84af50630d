// Snapshots: the requests that the SDK sends, and what it makes of the answers.
#include <gtest/gtest.h>

#include "client/json_read.h"
#include "client/json_write.h"
#include "client/testing/store_fixture.h"
#include "cay/client.h"

namespace cay::sdk {
namespace {

struct SnapshotsTest : client::testing::StoreFixture {
  void answers(std::vector<std::string> bodies) {
    log->answer = [bodies, next = std::size_t{0}](const std::string&) mutable {
      const std::string& body = bodies[std::min(next++, bodies.size() - 1)];
      return Result<http::Response>(http::Response{200, {}, body});
    };
  }
};

TEST_F(SnapshotsTest, APullSendsNameTagAndLogin) {
  PullOptions pull{.image = "localhost:5000/x:1", .name = "tools:2"};
  EXPECT_EQ(codec::write(client::pull_body(pull)),
            R"({"image":"localhost:5000/x:1","name":"tools","tag":"2"})");
  pull.name = "tools";
  pull.login = {.username = "me", .password = "secret"};
  EXPECT_EQ(codec::write(client::pull_body(pull)),
            R"({"image":"localhost:5000/x:1","name":"tools",)"
            R"("login":{"username":"me","password":"secret"}})");
}

TEST_F(SnapshotsTest, AForkNamesItsCopiesOrCountsThem) {
  EXPECT_EQ(codec::write(client::fork_body({.count = 3})), R"({"count":3})");
  EXPECT_EQ(codec::write(client::fork_body({.names = {"a", "b"}})), R"({"names":["a","b"]})");
}

TEST_F(SnapshotsTest, WaitReportsTheProgressAndComesBackWhenItIsReady) {
  answers({R"({"id":"i","status":"building","status_message":"layer 1 of 2"})",
           R"({"id":"i","status":"building","status_message":"layer 2 of 2"})",
           R"({"id":"i","status":"ready","config":{"user":null,"entrypoint":["a"],)"
           R"("command":["b","c"],"env":{"K":"V"}}})"});
  std::vector<std::string> told;
  const auto got =
      store.wait("i", [&told](const Snapshot& now) { told.push_back(now.status_message); });
  EXPECT_EQ(told, (std::vector<std::string>{"layer 1 of 2", "layer 2 of 2"}));
  EXPECT_EQ(got.config.argv(), (std::vector<std::string>{"a", "b", "c"}));
  EXPECT_EQ(got.config.env.at("K"), "V");
  EXPECT_EQ(got.config.user, "");
}

TEST_F(SnapshotsTest, AFailedOneIsAnErrorWithItsReason) {
  answers({R"({"id":"i","status":"failed","status_message":"no such tag"})"});
  try {
    store.wait("i");
    FAIL() << "it failed";
  } catch (const ApiError& error) {
    EXPECT_EQ(error.reason(), "snapshot_failed");
    EXPECT_STREQ(error.what(), "no such tag");
  }
}

TEST_F(SnapshotsTest, ARestartOfTheDaemonIsWaitedFor) {
  int asked = 0;
  log->answer = [&asked](const std::string&) -> Result<http::Response> {
    if (++asked < 3) return Error{Code::kUnavailable, "connect_failed", "nobody listens", 0};
    return http::Response{200, {}, R"({"id":"i","status":"ready"})"};
  };
  EXPECT_EQ(store.wait("i").status, "ready");
  EXPECT_EQ(asked, 3);
}

TEST_F(SnapshotsTest, APushThatFailsAtOnceIsNotTriedAgain) {
  int asked = 0;
  log->answer = [&asked](const std::string&) -> Result<http::Response> {
    ++asked;
    return Error{Code::kUnavailable, "registry_unreachable", "no way", 0};
  };
  EXPECT_THROW(store.push("x", {.image = "a.io/x"}), ApiError);
  EXPECT_EQ(asked, 1);
}

}  // namespace
}  // namespace cay::sdk
