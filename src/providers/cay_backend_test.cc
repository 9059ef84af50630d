// The provider "cay" over a scripted daemon: ids of executions, lost sandboxes, claims.
#include "providers/cay_backend.h"

#include <gtest/gtest.h>

#include "async/testing.h"
#include "client/async_state.h"
#include "client/testing/fake_http.h"
#include "providers/cay_provider.h"

namespace cay::providers {
namespace {

using cay::testing::run;
using client::testing::FakeHttp;
using client::testing::output_frame;
using client::testing::text_frame;

constexpr std::string_view kBox =
    R"({"id":"b1","state":"ready","workdir":"/work","user":"dev","created":true})";

class CayBackendTest : public ::testing::Test {
 protected:
  void answers(int status, std::string body) {
    log->answer = [status, body](const std::string&) -> Result<http::Response> {
      return http::Response{status, {}, body};
    };
  }
  void socket(std::vector<http::WsMessage> frames) { log->sockets.emplace_back(std::move(frames)); }
  std::unique_ptr<Backend> open(SandboxRequest request = {}) {
    answers(200, std::string(kBox));
    auto got = run(loop, provider->open(std::move(request)));
    EXPECT_TRUE(got) << (got ? "" : got.error().message);
    return got ? *std::move(got) : nullptr;
  }

  asio::io_context loop;
  std::shared_ptr<FakeHttp::Log> log = std::make_shared<FakeHttp::Log>();
  std::unique_ptr<Provider> provider = make_cay_provider(sdk::AsyncClient([this] {
    sdk::ClientOptions options;
    options.api_key = "key";
    options.reconnect_for_s = 0.1;
    return std::make_shared<sdk::AsyncState>(loop.get_executor(), options,
                                             std::make_unique<FakeHttp>(log));
  }()));
};

TEST_F(CayBackendTest, AClaimIsEnsuredAndAnIdIsUsed) {
  SandboxRequest request;
  request.claim = "thread:1";
  request.policy = "closed";
  auto box = open(request);
  EXPECT_EQ(box->id(), "b1");
  EXPECT_EQ(box->workdir(), "/work");
  EXPECT_TRUE(log->requests.front().starts_with("POST /api/v1/sandboxes/ensure {"));
  EXPECT_NE(log->requests.front().find(R"("claim":"thread:1")"), std::string::npos);
  EXPECT_NE(log->requests.front().find(R"("policy":"closed")"), std::string::npos);
  request = {};
  request.id = "b1";
  box = open(request);
  EXPECT_EQ(log->requests.back(), "GET /api/v1/sandboxes/b1");
  answers(404, R"({"error":{"code":"not_found","reason":"sandbox_not_found","message":"no"}})");
  EXPECT_EQ(run(loop, provider->open(request)).error().code, Code::kNotFound);
  EXPECT_TRUE(run(loop, provider->remove("b1")));  // it is gone, as requested
}

TEST_F(CayBackendTest, ACopyOfAClaimIsMadeOnce) {
  bool there = false;
  log->answer = [&](const std::string& line) -> Result<http::Response> {
    const bool forks = line.starts_with("POST ") && line.find("/fork") != std::string::npos;
    if (!forks) return http::Response{200, {}, std::string(kBox)};
    EXPECT_NE(line.find("thread-1-"), std::string::npos) << line;
    if (there) {
      return http::Response{409,
                            {},
                            R"({"error":{"code":"already_exists",)"
                            R"("reason":"name_in_use","message":"taken"}})"};
    }
    return http::Response{201, {}, R"({"items":[)" + std::string(kBox) + "]}"};
  };
  auto made = run(loop, provider->fork("b0", "thread:1-"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*made)->id(), "b1");
  there = true;
  made = run(loop, provider->fork("b0", "thread:1-"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*made)->id(), "b1");
  EXPECT_TRUE(log->requests.back().starts_with("GET /api/v1/sandboxes/thread-1-"))
      << log->requests.back();
}

TEST_F(CayBackendTest, AnImageThatIsNotHereIsPulled) {
  log->answer = [](const std::string& line) -> Result<http::Response> {
    if (line.find("/ensure ") != std::string::npos) {
      if (line.find(R"("snapshot":"s1")") != std::string::npos) {
        return http::Response{201, {}, std::string(kBox)};
      }
      return http::Response{404,
                            {},
                            R"({"error":{"code":"not_found",)"
                            R"("reason":"snapshot_not_found","message":"none"}})"};
    }
    return http::Response{200, {}, R"({"id":"s1","status":"ready","image":"python:3.12"})"};
  };
  SandboxRequest request;
  request.claim = "thread:1";
  request.snapshot = "python:3.12";
  auto box = run(loop, provider->open(request));
  ASSERT_TRUE(box) << box.error().message;
  EXPECT_NE(log->requests[1].find("python:3.12"), std::string::npos) << log->requests[1];
}

TEST_F(CayBackendTest, AShortExecutionTakesOneRequest) {
  // The id that Cay gives out: a name takes a request more.
  answers(200,
          R"({"id":"8a0c7f52-6e1b-4d0e-9f43-2c5b7a1d9e60","state":"ready","workdir":"/work"})");
  auto opened = run(loop, provider->open({}));
  ASSERT_TRUE(opened) << opened.error().message;
  auto box = *std::move(opened);
  log->requests.clear();
  answers(200, R"({"stdout":"one\n","truncated":false,)"
               R"("command":{"id":"c1","state":"exited","exit_code":3}})");
  ExecuteOptions options;
  options.id = "c1";
  std::string streamed;
  options.on_output = [&](std::string_view bytes) { streamed += bytes; };
  auto ran = run(loop, box->execute("make", options));
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->output, "one\n");
  EXPECT_EQ(streamed, "one\n");
  EXPECT_EQ(ran->exit_code, 3);
  EXPECT_EQ(log->requests.size(), 1U) << log->requests.front();
  EXPECT_TRUE(log->targets.empty());
}

TEST_F(CayBackendTest, AnExecutionHasTheIdOfItsCallAndStreams) {
  auto box = open();
  answers(201, R"({"id":"c1","state":"running"})");
  socket({text_frame(R"({"type":"started","command":{"id":"c1","state":"running"}})"),
          output_frame(1, 0, "one\n"), output_frame(1, 4, "two\n"),
          text_frame(R"({"type":"end","command":{"id":"c1","state":"exited","exit_code":3}})")});
  ExecuteOptions options;
  options.id = "c1";
  options.timeout_s = 7;
  std::string streamed;
  options.on_output = [&](std::string_view bytes) { streamed += bytes; };
  auto ran = run(loop, box->execute("make", options));
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->output, "one\ntwo\n");
  EXPECT_EQ(streamed, "one\ntwo\n");
  EXPECT_EQ(ran->exit_code, 3);
  const auto& sent = log->requests.back();
  EXPECT_NE(sent.find(R"("id":"c1")"), std::string::npos) << sent;
  EXPECT_NE(sent.find(R"("command":"exec 2>&1; make")"), std::string::npos) << sent;
  EXPECT_NE(sent.find(R"("timeout_s":7)"), std::string::npos) << sent;
}

TEST_F(CayBackendTest, IdsThatTheDaemonDoesNotTakeBecomeTheirDigest) {
  EXPECT_EQ(cay_command_id("run-1.call_2"), "run-1.call_2");
  const auto made = cay_command_id("thread:1/call 2");
  EXPECT_EQ(made.size(), 64U);
  EXPECT_EQ(made, cay_command_id("thread:1/call 2"));
  EXPECT_EQ(cay_command_id(""), "");
}

TEST_F(CayBackendTest, ASandboxThatIsGoneIsLost) {
  auto box = open();
  answers(404, R"({"error":{"code":"not_found","reason":"sandbox_not_found","message":"no"}})");
  auto listed = run(loop, box->list("/"));
  ASSERT_FALSE(listed);
  EXPECT_EQ(listed.error().code, Code::kLost);
  EXPECT_EQ(listed.error().reason, "sandbox_lost");
  // One that failed is lost as well, with its reason. One that starts is not.
  std::string state = "failed";
  log->answer = [&](const std::string& request) -> Result<http::Response> {
    if (request == "GET /api/v1/sandboxes/b1") {
      return http::Response{
          200, {}, R"({"id":"b1","state":")" + state + R"(","reason":"disk is full"})"};
    }
    return http::Response{
        409, {}, R"({"error":{"code":"not_ready","reason":"sandbox_not_ready","message":"x"}})"};
  };
  listed = run(loop, box->list("/"));
  EXPECT_EQ(listed.error().reason, "sandbox_lost");
  EXPECT_NE(listed.error().message.find("disk is full"), std::string::npos);
  state = "provisioning";
  listed = run(loop, box->list("/"));
  EXPECT_EQ(listed.error().code, Code::kNotReady);
}

TEST_F(CayBackendTest, ACommandOfADeletedSandboxIsALoss) {
  auto box = open();
  answers(201, R"({"id":"c1","state":"running"})");
  socket({text_frame(R"({"type":"started","command":{"id":"c1","state":"running"}})"),
          text_frame(R"({"type":"end","command":{"id":"c1","state":"killed",)"
                     R"("by":"sandbox removal"}})")});
  auto ran = run(loop, box->execute("sleep 9", {}));
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().reason, "sandbox_lost");
}

TEST_F(CayBackendTest, ADaemonThatIsAwayIsUnavailable) {
  auto box = open();
  log->answer = [](const std::string&) -> Result<http::Response> {
    return Error{Code::kUnavailable, "connect_failed", "nobody listens", 0};
  };
  auto written = run(loop, box->upload({{"/x", "y"}}));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::kUnavailable);
}

TEST_F(CayBackendTest, FaultsOfFilesAreValues) {
  auto box = open();
  answers(400, R"({"error":{"code":"invalid_argument","reason":"is_a_directory","message":"d"}})");
  auto written = run(loop, box->upload({{"/dir", "y"}, {"relative", "z"}}));
  ASSERT_TRUE(written);
  EXPECT_EQ((*written)[0].error, "is_directory");
  EXPECT_EQ((*written)[1].error, "invalid_path");
  EXPECT_EQ((*written)[0].path, "/dir");
  EXPECT_NE(log->requests.back().find("user=dev"), std::string::npos);
}

}  // namespace
}  // namespace cay::providers
