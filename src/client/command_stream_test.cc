#include <gtest/gtest.h>

#include "client/sync_state.h"
#include "client/testing/fake_http.h"

namespace cay::client {
namespace {

using testing::closed_frame;
using testing::FakeHttp;
using testing::output_frame;
using testing::text_frame;

constexpr const char* kId = "11111111-2222-4333-8444-555555555555";
constexpr const char* kStarted = R"({"type":"started","command":{"id":"c1","state":"running"}})";
constexpr const char* kEnd =
    R"({"type":"end","command":{"id":"c1","state":"exited","exit_code":3,"stdout":{"bytes":6},)"
    R"("stderr":{"bytes":2}}})";

// Options of a run that opens the stream at once.
sdk::CommandOptions at_once() {
  sdk::CommandOptions out;
  out.wait_s = 0;
  return out;
}

struct CommandStreamTest : ::testing::Test {
  std::shared_ptr<FakeHttp::Log> log = std::make_shared<FakeHttp::Log>();

  sdk::Sandbox box(double reconnect_for_s = 5, std::string ref = kId) {
    sdk::ClientOptions options;
    options.api_key = "k";
    options.reconnect_for_s = reconnect_for_s;
    auto make = [this](const asio::any_io_executor&) { return std::make_unique<FakeHttp>(log); };
    return {std::make_shared<sdk::ClientState>(options, make), std::move(ref)};
  }
};

TEST_F(CommandStreamTest, GathersBothStreamsAndTheEnd) {
  log->sockets.emplace_back(std::vector{text_frame(kStarted), output_frame(1, 0, "abc"),
                                        output_frame(2, 0, "ee"), output_frame(1, 3, "def"),
                                        text_frame(kEnd)});
  const auto got = box().run({"prog"}, at_once());
  EXPECT_EQ(got.out, "abcdef");
  EXPECT_EQ(got.err, "ee");
  EXPECT_EQ(got.command.exit_code, 3);
  EXPECT_FALSE(got.truncated);
  EXPECT_FALSE(got.ok());
}

TEST_F(CommandStreamTest, ComesBackAtTheNextByteOfEachStream) {
  log->sockets.emplace_back(
      std::vector{text_frame(kStarted), output_frame(1, 0, "abc"), output_frame(2, 0, "e")});
  log->sockets.emplace_back(Error{Code::kUnavailable, "connect_failed", "the daemon restarts", 0});
  // The reader was quicker than its offsets: "c" comes again and must not be passed on twice.
  log->sockets.emplace_back(std::vector{text_frame(kStarted), output_frame(1, 2, "cdef"),
                                        output_frame(2, 1, "e"), text_frame(kEnd)});
  const auto got = box().run({"prog"}, at_once());
  EXPECT_EQ(got.out, "abcdef");
  EXPECT_EQ(got.err, "ee");
  ASSERT_EQ(log->frames.size(), 2u);
  EXPECT_NE(log->frames[1].find(R"("stdout_offset":3)"), std::string::npos) << log->frames[1];
  EXPECT_NE(log->frames[1].find(R"("stderr_offset":1)"), std::string::npos) << log->frames[1];
  EXPECT_NE(log->frames[1].find(R"("type":"attach")"), std::string::npos);
}

TEST_F(CommandStreamTest, AStartHasAnIdOfItsOwnSoThatItCannotRunTwice) {
  log->sockets.emplace_back(std::vector{text_frame(kStarted), text_frame(kEnd)});
  (void)box().run({"prog"}, at_once());
  ASSERT_EQ(log->frames.size(), 1u);
  EXPECT_NE(log->frames[0].find(R"("id":")"), std::string::npos);
}

TEST_F(CommandStreamTest, AHoleIsAnErrorAndNotSilence) {
  log->sockets.emplace_back(std::vector{text_frame(kStarted), output_frame(1, 5, "late")});
  try {
    (void)box().run({"prog"}, at_once());
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.reason(), "stream_hole");
  }
}

TEST_F(CommandStreamTest, AGapIsToldAndPassed) {
  log->sockets.emplace_back(
      std::vector{text_frame(kStarted), output_frame(1, 0, "ab"),
                  text_frame(R"({"type":"gap","stream":"stdout","offset":2,"length":10})"),
                  output_frame(1, 12, "yz"), text_frame(kEnd)});
  const auto got = box().run({"prog"}, at_once());
  const std::string note = "\n[cay: 10 bytes of output are left out here]\n";
  EXPECT_EQ(got.out, "ab" + note + "yz");
  EXPECT_TRUE(got.truncated);
  ASSERT_TRUE(got.out_gap);
  EXPECT_EQ(got.out_gap->offset, 2u);
  EXPECT_EQ(got.out_gap->length, 10u);
  EXPECT_EQ(got.out_gap->at, 2u);
  EXPECT_EQ(got.out_gap->note_bytes, note.size());
}

TEST_F(CommandStreamTest, AGapIsToldToCallbacksWhereItIs) {
  log->sockets.emplace_back(
      std::vector{text_frame(kStarted), output_frame(1, 0, "ab"),
                  text_frame(R"({"type":"gap","stream":"stdout","offset":2,"length":10})"),
                  output_frame(1, 12, "yz"), text_frame(kEnd)});
  std::string told;
  (void)box().run(
      {"prog"}, at_once(),
      {.on_stdout = [&](const std::string& bytes) { told += bytes; },
       .on_stderr = {},
       .on_gap = [&](const sdk::Gap& gap) { told += "[" + std::to_string(gap.length) + "]"; }});
  EXPECT_EQ(told, "ab[10]yz");
}

TEST_F(CommandStreamTest, ARefusalIsToldAtOnce) {
  log->sockets.emplace_back(std::vector{text_frame(
      R"({"type":"error","error":{"code":"invalid_argument","reason":"command_not_found",)"
      R"("message":"no"}})")});
  try {
    (void)box().run({"prog"}, at_once());
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.reason(), "command_not_found");
  }
}

TEST_F(CommandStreamTest, ACloseBeforeItBeganIsToldInWords) {
  log->sockets.emplace_back(std::vector{closed_frame(1009)});
  try {
    (void)box().run({"prog"}, at_once());
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.reason(), "body_too_large");
    const std::string told = error.what();
    EXPECT_NE(told.find("upload what is longer as a file"), std::string::npos) << told;
  }
}

TEST_F(CommandStreamTest, TheLastEndIsToldWhenNoOtherConnectionIsHad) {
  log->sockets.emplace_back(std::vector{text_frame(kStarted), closed_frame(1011)});
  log->sockets.emplace_back(std::vector{text_frame(kStarted), closed_frame(1013)});
  try {
    (void)box(0).run({"prog"}, at_once());
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
    const std::string told = error.what();
    EXPECT_NE(told.find("WebSocket close 1011"), std::string::npos) << told;
  }
}

TEST_F(CommandStreamTest, GivesUpWhenTheDaemonStaysAway) {
  log->sockets.emplace_back(
      std::vector{text_frame(kStarted), output_frame(1, 0, "abc"), closed_frame(1001)});
  try {
    (void)box(0.05).run({"prog"}, at_once());
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  }
}

TEST_F(CommandStreamTest, InputWhoseFateIsUnknownIsSaidToBe) {
  log->sockets.emplace_back(std::vector{text_frame(kStarted)});
  auto command = box().spawn({"cat"});
  log->answer = [](const std::string&) -> Result<http::Response> {
    return Error{Code::kUnavailable, "connection_lost", "broke", 0};
  };
  try {
    command.write_stdin("x");
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.reason(), "stdin_uncertain");
  }
}

TEST_F(CommandStreamTest, InputThatWasNeverSentIsSentAgain) {
  log->sockets.emplace_back(std::vector{text_frame(kStarted)});
  auto command = box().spawn({"cat"});
  int tries = 0;
  log->answer = [&tries](const std::string&) -> Result<http::Response> {
    if (++tries == 1) return Error{Code::kUnavailable, "connect_failed", "not yet", 0};
    return http::Response{204, {}, {}};
  };
  command.write_stdin("hello");
  EXPECT_EQ(tries, 2);
  EXPECT_NE(log->requests.back().find("/stdin hello"), std::string::npos);
}

TEST_F(CommandStreamTest, ANameIsAskedForOnceAndThenTheIdIsUsed) {
  log->sockets.emplace_back(std::vector{text_frame(kStarted), text_frame(kEnd)});
  log->answer = [](const std::string& request) -> Result<http::Response> {
    if (request == "GET /api/v1/sandboxes/box")
      return http::Response{200, {}, std::string(R"({"id":")") + kId + R"(","name":"box"})"};
    return http::Response{
        request.starts_with(std::string("POST /api/v1/sandboxes/") + kId + "/") ? 204 : 404,
        {},
        {}};
  };
  const auto named = box(5, "box");
  auto command = named.spawn({"cat"});
  command.write_stdin("hello");  // "box" may be another's name by now
  command.close_stdin();
  command.kill();
  EXPECT_EQ(log->targets.at(0), std::string("/api/v1/sandboxes/") + kId + "/commands/ws");
  EXPECT_EQ(log->requests.size(), 4u);
  EXPECT_EQ(command.wait().sandbox, "box");  // as the caller named it
  named.kill("c1");
  EXPECT_TRUE(log->requests.back().starts_with(std::string("POST /api/v1/sandboxes/") + kId +
                                               "/commands/c1/kill"))
      << log->requests.back();
}

TEST_F(CommandStreamTest, NoKeyIsToldOnlyOnceADaemonAnswers) {
  sdk::ClientOptions options;
  options.key_problem = "ask for `cay key create`";
  auto make = [this](const asio::any_io_executor&) { return std::make_unique<FakeHttp>(log); };
  const sdk::Client client(std::make_shared<sdk::ClientState>(options, make));
  try {
    (void)client.list();
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.reason(), "no_key");
  }
  log->answer = [](const std::string&) -> Result<http::Response> {
    return Error{Code::kUnavailable, "connect_failed", "refused", 0};
  };
  try {
    (void)client.list();
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.reason(), "connect_failed");
    EXPECT_NE(std::string(error.what()).find("cay serve"), std::string::npos);
  }
}

TEST_F(CommandStreamTest, ListTakesAllPages) {
  log->answer = [](const std::string& request) -> Result<http::Response> {
    const bool second = request.find("cursor=next%20page") != std::string::npos;
    return http::Response{200,
                          {},
                          second
                              ? R"({"items":[{"id":"2","name":"b"}],"next_cursor":null})"
                              : R"({"items":[{"id":"1","name":"a"}],"next_cursor":"next page"})"};
  };
  const auto state = std::make_shared<sdk::ClientState>(
      sdk::ClientOptions{},
      [this](const asio::any_io_executor&) { return std::make_unique<FakeHttp>(log); });
  const auto items = sdk::Client(state).list();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[1].name, "b");
}

TEST_F(CommandStreamTest, CommandsAreTakenPageByPage) {
  log->answer = [](const std::string& request) -> Result<http::Response> {
    EXPECT_NE(request.find("limit="), std::string::npos)
        << "all at once may be more than one answer holds";
    const bool second = request.find("cursor=7.a") != std::string::npos;
    return http::Response{200,
                          {},
                          second ? R"({"items":[{"id":"b"}],"next_cursor":null})"
                                 : R"({"items":[{"id":"a"}],"next_cursor":"7.a"})"};
  };
  const auto items = box().commands();
  ASSERT_EQ(items.size(), 2u);
  EXPECT_EQ(items[1].id, "b");
}

TEST_F(CommandStreamTest, ErrorAnswersBecomeTypedExceptions) {
  log->answer = [](const std::string&) -> Result<http::Response> {
    return http::Response{
        404,
        {},
        R"({"error":{"code":"not_found","reason":"sandbox_not_found","message":"no box"}})"};
  };
  try {
    (void)box().info();
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNotFound);
    EXPECT_EQ(error.reason(), "sandbox_not_found");
    EXPECT_STREQ(error.what(), "no box");
  }
  log->answer = [](const std::string&) -> Result<http::Response> {
    return http::Response{502, {}, "<html>"};
  };
  try {
    (void)box().info();
    FAIL();
  } catch (const ApiError& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnavailable);
  }
}

}  // namespace
}  // namespace cay::client
