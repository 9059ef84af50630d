// The paths of LangSmith's own that are passed on, and the right that each needs.
#include <gtest/gtest.h>

#include "api/langsmith/langsmith_test.h"

namespace cay::api::langsmith {
namespace {

class PassingTest : public testing::ApiTest {
 protected:
  PassingTest() {
    LangsmithConfig config;
    config.forward = [this](ExchangePtr exchange, Passing what) -> asio::awaitable<void> {
      passed = what;
      http::Response response;
      co_await exchange->respond(std::move(response));
    };
    add_langsmith_routes(router, *cay, std::move(config));
  }
  Right right_of(const std::string& method, const std::string& target) {
    const auto match = router.match(exchange(method, target)->request);
    return match.route == nullptr ? Right::kAny : match.route->right;
  }
  std::optional<Passing> passed;
};

constexpr const char* kRun = "/runs/6f1c2a0e-8d54-4a43-9a55-0f6a8f0f3b11";

TEST_F(PassingTest, WhoMayMakeSandboxesMayPostRunsAndNoMore) {
  for (const std::string root : {"", "/api", "/api/v1"}) {
    for (const auto& [method, path] :
         std::vector<std::pair<std::string, std::string>>{{"POST", "/runs"},
                                                          {"POST", "/runs/batch"},
                                                          {"POST", "/runs/multipart"},
                                                          {"PATCH", kRun}}) {
      EXPECT_EQ(right_of(method, root + path), Right::kManage) << method << root + path;
      passed.reset();
      EXPECT_EQ(call(method, root + path)->status, 200);
      EXPECT_EQ(passed, Passing::kRuns);
    }
    EXPECT_EQ(right_of("GET", root + "/info"), Right::kAny);
    for (const auto& [method, path] :
         std::vector<std::pair<std::string, std::string>>{{"GET", "/runs"},
                                                          {"GET", kRun},
                                                          {"DELETE", kRun},
                                                          {"PUT", "/runs/batch"},
                                                          {"POST", "/runs/query"},
                                                          {"POST", "/runs/stats"},
                                                          {"POST", "/runs/batch/x"},
                                                          {"POST", "/runs/"},
                                                          {"POST", "/runs/.."},
                                                          {"POST", "/runs/../sessions"},
                                                          {"PATCH", "/runs/a/b"},
                                                          {"DELETE", "/sessions/x"},
                                                          {"GET", "/prompts"},
                                                          {"POST", "/datasets"},
                                                          {"POST", "/feedback"},
                                                          {"POST", "/otel/v1/traces"},
                                                          {"GET", "/tenants"},
                                                          {"POST", "/likes/o/n"}}) {
      EXPECT_EQ(right_of(method, root + path), Right::kHost) << method << root + path;
    }
  }
  EXPECT_FALSE(allows(KeyScope::kCreate, Right::kHost));
  EXPECT_FALSE(allows(KeyScope::kRead, Right::kManage));
  EXPECT_FALSE(allows(KeyScope::kUse, Right::kManage));
  EXPECT_EQ(call("GET", "/sessions")->status, 200);
  EXPECT_EQ(passed, Passing::kAnything);
}

TEST_F(PassingTest, ARunsIdIsNoOtherPath) {
  for (const char* path : {"/runs/..%2Fsessions%2Fx", "/runs/%2e%2e", "/runs/x", "/runs/batch",
                           "/runs/6f1c2a0e-8d54-4a43-9a55-0f6a8f0f3b11%2f.."}) {
    const auto refused = call("PATCH", path);
    EXPECT_EQ(refused->status, 422) << path;
    EXPECT_NE(refused->answer_body.find("invalid_run_id"), std::string::npos);
  }
  EXPECT_FALSE(passed);
}

TEST_F(LangsmithTest, WithoutAnUpstreamThatIsSaidToWhoeverMayMakeSandboxes) {
  for (const auto& [method, path] :
       std::vector<std::pair<std::string, std::string>>{{"POST", "/runs/batch"},
                                                        {"GET", "/sessions"},
                                                        {"GET", "/tenants"},
                                                        {"PATCH", "/runs/x"}}) {
    const auto match = router.match(exchange(method, path)->request);
    ASSERT_NE(match.route, nullptr) << path;
    EXPECT_EQ(match.route->right, Right::kManage) << path;
    const auto told = call(method, path);
    EXPECT_EQ(told->status, 404);
    EXPECT_NE(told->answer_body.find("upstream_key_file"), std::string::npos);
  }
}

}  // namespace
}  // namespace cay::api::langsmith
