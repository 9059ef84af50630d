// Commands whose start waits for their end: one request for a short one, a stream for the others.
#include "client/waited_start.h"

#include <gtest/gtest.h>

#include "client/sync_state.h"
#include "client/testing/fake_http.h"

namespace cay::client {
namespace {

using testing::FakeHttp;
using testing::output_frame;
using testing::text_frame;

constexpr const char* kId = "11111111-2222-4333-8444-555555555555";
constexpr const char* kEnded =
    R"({"state":"exited","exit_code":3,"stdout":"out\n","stderr_base64":"//8=","truncated":false,)"
    R"("command":{"id":"c1","argv":["prog"],"state":"exited","exit_code":3,"pid":7}})";
constexpr const char* kRuns = R"({"id":"c1","argv":["prog"],"state":"running"})";

struct WaitedStartTest : ::testing::Test {
  std::shared_ptr<FakeHttp::Log> log = std::make_shared<FakeHttp::Log>();

  sdk::Sandbox box() {
    sdk::ClientOptions options;
    options.api_key = "k";
    options.reconnect_for_s = 5;
    auto make = [this](const asio::any_io_executor&) { return std::make_unique<FakeHttp>(log); };
    return {std::make_shared<sdk::ClientState>(options, make), kId};
  }
  void answers(std::vector<Result<http::Response>> all) {
    log->answer = [all = std::move(all), at = std::size_t{0}](const std::string&) mutable {
      return all.at(at++);
    };
  }
  // The next stream has all of the command, from its first byte.
  void streams_all() {
    log->frames.clear();
    log->sockets.emplace_back(std::vector{
        text_frame(R"({"type":"started","command":{"id":"c1","state":"running"}})"),
        output_frame(1, 0, "all"),
        text_frame(R"({"type":"end","command":{"id":"c1","state":"exited","exit_code":0}})")});
  }
  static http::Response answer(int status, std::string body) {
    return {status, {}, std::move(body)};
  }
};

TEST_F(WaitedStartTest, AShortCommandTakesOneRequest) {
  answers({answer(200, kEnded)});
  const auto got = box().run({"prog"});
  EXPECT_EQ(got.out, "out\n");
  EXPECT_EQ(got.err, "\xff\xff");
  EXPECT_EQ(got.command.exit_code, 3);
  EXPECT_EQ(got.command.pid, 7);
  EXPECT_EQ(got.command.argv, std::vector<std::string>{"prog"});
  ASSERT_EQ(log->requests.size(), 1u);
  EXPECT_NE(log->requests[0].find(R"("wait_s":5E-2)"), std::string::npos) << log->requests[0];
  EXPECT_TRUE(log->targets.empty());
}

TEST_F(WaitedStartTest, AfterItsEndThereIsNoMore) {
  answers({answer(200, kEnded)});
  sdk::CommandOptions options;
  options.wait_s = 1;
  auto command = box().spawn({"prog"}, options);
  EXPECT_TRUE(std::holds_alternative<sdk::Output>(command.next()));
  EXPECT_TRUE(std::holds_alternative<sdk::Output>(command.next()));
  EXPECT_TRUE(std::holds_alternative<sdk::End>(command.next()));
  try {
    (void)command.next();
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.reason(), "command_ended");
  }
}

TEST_F(WaitedStartTest, OutputThatNoAnswerHoldsComesByAStream) {
  for (const auto& [status, error] :
       {std::pair{409, R"({"code":"not_ready","reason":"output_not_held","message":"full"})"},
        std::pair{429, R"({"code":"exhausted","reason":"too_many_answers","message":"full"})"}}) {
    answers({answer(status, std::string(R"({"error":)") + error + "}")});
    streams_all();
    const auto got = box().run({"prog"});
    EXPECT_EQ(got.out, "all");
    EXPECT_EQ(got.command.exit_code, 0);
  }
}

TEST_F(WaitedStartTest, AnotherIsReadFromItsFirstByte) {
  for (const auto& first :
       {answer(201, kRuns),
        answer(200, R"({"stdout":"a part","truncated":true,"command":{"id":"c1"}})")}) {
    answers({first});
    streams_all();
    const auto got = box().run({"prog"});
    EXPECT_EQ(got.out, "all");
    EXPECT_TRUE(got.ok());
    ASSERT_EQ(log->frames.size(), 1u);
    EXPECT_NE(log->frames[0].find(R"("type":"attach")"), std::string::npos);
    EXPECT_NE(log->frames[0].find(R"("stdout_offset":0)"), std::string::npos);
  }
}

TEST_F(WaitedStartTest, ALostAnswerIsRepeatedWithTheSameId) {
  const Error lost{Code::kUnavailable, "connection_lost", "the daemon is gone", 0};
  const Error away{Code::kUnavailable, "connect_failed", "nobody listens", 0};
  const Error slow{Code::kDeadlineExceeded, "connect_timeout", "nobody answers", 0};
  answers({lost, away, slow, answer(200, kEnded)});
  EXPECT_EQ(box().run({"prog"}).out, "out\n");
  ASSERT_EQ(log->requests.size(), 4u);
  EXPECT_EQ(log->requests[0], log->requests[3]);
  EXPECT_NE(log->requests[0].find(R"("id":")"), std::string::npos);
}

TEST_F(WaitedStartTest, ARefusalAndAMissingDaemonAreErrorsAtOnce) {
  const Error away{Code::kUnavailable, "connect_failed", "nobody listens", 0};
  const auto lost = answer(
      500, R"({"error":{"code":"lost","reason":"keeper_lost","message":"its keeper is gone"}})");
  for (const Result<http::Response>& first :
       {Result<http::Response>(away), Result<http::Response>(lost)}) {
    answers({first});
    log->requests.clear();
    EXPECT_THROW((void)box().run({"prog"}), ApiError);
    EXPECT_EQ(log->requests.size(), 1u);
  }
}

TEST_F(WaitedStartTest, ACommandThatNeedsAReaderIsReadAtOnce) {
  sdk::CommandOptions options;
  EXPECT_EQ(wait_of(options, kWaitOfRun), kWaitOfRun);
  options.wait_s = 2;
  EXPECT_EQ(wait_of(options, 0), 2);
  options.ttl_s = 0;
  EXPECT_EQ(wait_of(options, 0), 0);
  options.ttl_s = -1;
  EXPECT_EQ(wait_of(options, 0), 2);
  options.idle_timeout_s = 1;
  EXPECT_EQ(wait_of(options, 0), 0);
  options.idle_timeout_s = -1;
  options.kill_on_disconnect = true;
  EXPECT_EQ(wait_of(options, 0), 0);
}

}  // namespace
}  // namespace cay::client
