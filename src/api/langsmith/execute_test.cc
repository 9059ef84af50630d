#include "api/langsmith/langsmith_test.h"
#include "core/answer_room.h"
#include "core/verbs/drain.h"
#include "core/verbs/sandboxes.h"
#include "model/command_limits.h"

namespace cay::api::langsmith {
namespace {

using core::testing::ended;
using core::testing::exited;
using testing::FakeProgram;

class ExecuteTest : public LangsmithTest {
 protected:
  ExecuteTest() {
    base = data_plane(make_box());
    commands().program = [](const CommandSpec&) { return FakeProgram{}; };
  }
  Running open(const std::string& first) {
    auto handle = exchange("GET", base + "/execute/ws");
    handle->request.wants_websocket = true;
    auto running = begin(handle);
    settle();
    EXPECT_EQ(handle->status, 101);
    socket = handle->socket;
    EXPECT_TRUE(socket->sent.empty()) << "nothing before the client's first frame";
    EXPECT_EQ(socket->end_code, 1000);
    socket->client_text(first);
    settle();
    return running;
  }
  codec::json::object frame(std::size_t i) { return *codec::parse_object(socket->sent.at(i).data); }
  std::string raw(std::size_t i) { return socket->sent.at(i).data; }
  // Returns the text that a client makes of the frames of one stream. Checks the offsets.
  std::string text(const std::string& stream, std::uint64_t from = 0) {
    std::string out;
    for (std::size_t i = 0; i < socket->sent.size(); ++i) {
      const auto got = frame(i);
      if (got.at("type").as_string() != stream) continue;
      EXPECT_EQ(got.at("offset").to_number<std::uint64_t>(), from + out.size());
      out += std::string(got.at("data").as_string());
    }
    return out;
  }

  std::string base;
  std::shared_ptr<testing::FakeWebSocket> socket;
  const CommandId c1{"c1"};
};

constexpr const char* kExecute =
    R"({"type":"execute","command":"x","timeout_seconds":60,"shell":"/bin/bash",)"
    R"("command_id":"c1"})";

TEST_F(ExecuteTest, APlainRun) {
  auto running =
      open(R"({"type":"execute","command":"cb","timeout_seconds":60,"shell":"/bin/bash",)"
           R"("idle_timeout_seconds":300,
    "kill_on_disconnect":false,"ttl_seconds":-1,"env":{"A":"1"},"cwd":"/x","close_stdin":true,)"
           R"("command_id":"c1"})");
  EXPECT_EQ(raw(0), R"({"type":"started","command_id":"c1","pid":100})");
  const CommandSpec& spec = commands().started.at(0);
  EXPECT_EQ(spec.argv, (std::vector<std::string>{"/bin/bash", "-c", "cb"}));
  EXPECT_EQ(spec.run.env.at("A"), "1");
  EXPECT_EQ(spec.run.workdir, "/x");
  EXPECT_EQ(spec.idle_timeout_ms, 300'000);
  EXPECT_EQ(spec.ttl_ms, -1);
  EXPECT_TRUE(spec.close_stdin);
  commands().emit(c1, Stream::kStdout, "out\n");
  commands().emit(c1, Stream::kStderr, "err\n");
  commands().end(c1, exited(0));
  settle();
  EXPECT_EQ(raw(1), R"({"type":"stdout","data":"out\n","offset":0})");
  EXPECT_EQ(raw(2), R"({"type":"stderr","data":"err\n","offset":0})");
  EXPECT_EQ(raw(3), R"({"type":"exit","exit_code":0})");
  EXPECT_EQ(socket->closed_with, 1000);
  EXPECT_TRUE(running.done());
}

TEST_F(ExecuteTest, ADaemonThatEndsCostsNobodyARun) {
  // Section 4.7: before `started` its clients repeat it after 1000 alone (open() checks the code).
  // After it they come back at once after 1001.
  auto running = open(kExecute);
  EXPECT_EQ(frame(0).at("type").as_string(), "started");
  EXPECT_EQ(socket->end_code, 1001);
  socket->client_close();
  settle();
  auto again =
      open(R"({"type":"reconnect","command_id":"c1","stdout_offset":0,"stderr_offset":0})");
  EXPECT_EQ(socket->end_code, 1001);
  socket->client_close();
  settle();
  EXPECT_TRUE(running.done() && again.done());
}

TEST_F(ExecuteTest, AMessageThatIsTooLongIsAnErrorThatNamesTheLimit) {
  auto handle = exchange("GET", base + "/execute/ws");
  handle->request.wants_websocket = true;
  auto running = begin(handle);
  settle();
  socket = handle->socket;
  EXPECT_EQ(handle->max_message, kMaxCommandRequest);
  socket->client_too_long("the message is longer than 16777216 bytes");
  settle();
  ASSERT_EQ(socket->sent.size(), 1u) << "a frame: its clients ask again after a close alone";
  EXPECT_EQ(frame(0).at("type").as_string(), "error");
  EXPECT_EQ(frame(0).at("error_type").as_string(), "CommandError");
  EXPECT_NE(frame(0).at("error").as_string().find("16777216 bytes"), std::string::npos);
  EXPECT_EQ(socket->closed_with, 1009);
  EXPECT_TRUE(running.done());
}

TEST_F(ExecuteTest, AnOldClientSendsNoId) {
  auto running =
      open(R"({"type":"execute","command":"x","timeout_seconds":0,"shell":"/bin/bash"})");
  EXPECT_FALSE(frame(0).at("command_id").as_string().empty());
  EXPECT_EQ(commands().started.at(0).timeout_ms, 0);
  EXPECT_FALSE(commands().started.at(0).close_stdin);
  socket->client_close(1011);
  settle();
  EXPECT_TRUE(running.done());
}

TEST_F(ExecuteTest, EndsAreToldAsTheyWere) {
  for (const auto& [end, want] :
       {std::pair{exited(3), R"({"type":"exit","exit_code":3})"},
        {ended(CommandState::kSignalled, 9), R"({"type":"exit","exit_code":137})"},
        {ended(CommandState::kOomKilled, 9), R"({"type":"exit","exit_code":137})"},
        {ended(CommandState::kKilled, 9), R"({"type":"exit","exit_code":137})"}}) {
    const CommandId id("e" + std::to_string(commands().started.size()));
    auto running = open(R"({"type":"execute","command":"x","command_id":")" + id.get() + R"("})");
    commands().end(id, end);
    settle();
    EXPECT_EQ(socket->sent.back().data, want);
  }
  auto running = open(kExecute);
  commands().end(c1, ended(CommandState::kTimedOut, 9));
  settle();
  EXPECT_EQ(frame(1).at("error_type").as_string(), "CommandTimeout");
  auto lost = open(R"({"type":"execute","command":"x","command_id":"c2"})");
  die("keeper lost");
  settle();
  EXPECT_EQ(frame(1).at("type").as_string(), "error");
}

TEST_F(ExecuteTest, InvalidUtf8IsSanitisedAndOffsetsCountTheText) {
  auto running = open(kExecute);
  commands().emit(c1, Stream::kStdout, "a\xFF");
  commands().emit(c1, Stream::kStdout, "\xE2\x82");
  commands().emit(c1, Stream::kStdout,
                  "\xAC"
                  "b\xF0");
  commands().end(c1, exited(0));
  settle();
  EXPECT_EQ(text("stdout"), "a\uFFFD\u20ACb\uFFFD");
}

TEST_F(ExecuteTest, ReconnectAtEveryOffset) {
  auto running = open(kExecute);
  commands().emit(c1, Stream::kStdout, std::string("a\xFF\0\xE2\x82\xAC\xC3", 7));
  commands().emit(c1, Stream::kStderr, "err");
  commands().end(c1, exited(5));
  settle();
  const std::string all = text("stdout");
  EXPECT_EQ(all, std::string("a\uFFFD\0\u20AC\uFFFD", 11));
  for (const std::size_t from : {0u, 1u, 4u, 5u, 8u, 11u}) {
    auto again = open(R"({"type":"reconnect","command_id":"c1","stdout_offset":)" +
                      std::to_string(from) + R"(,"stderr_offset":3})");
    EXPECT_EQ(frame(0).at("type").as_string(), "started");
    EXPECT_EQ(frame(0).at("command_id").as_string(), "c1");
    EXPECT_EQ(text("stdout", from), all.substr(from));
    EXPECT_EQ(text("stderr", 3), "");
    EXPECT_EQ(socket->sent.back().data, R"({"type":"exit","exit_code":5})");
  }
}

TEST_F(ExecuteTest, LargeOutputComesInSmallFrames) {
  auto running = open(kExecute);
  std::string big;
  while (big.size() < 300'000) big += "\x01\xE2\x82\xAC\n";
  for (std::size_t at = 0; at < big.size(); at += 65'536)
    commands().emit(c1, Stream::kStdout, big.substr(at, 65'536));
  commands().end(c1, exited(0));
  settle();
  EXPECT_EQ(text("stdout"), big);
  EXPECT_LT(socket->largest, 256u * 1024);
}

TEST_F(ExecuteTest, AKnownIdReplaysAndRunsOnce) {
  auto running = open(kExecute);
  commands().emit(c1, Stream::kStdout, "once");
  socket->client_close();
  settle();
  auto again =
      open(R"({"type":"execute","command":"other","command_id":"c1","timeout_seconds":1})");
  EXPECT_EQ(text("stdout"), "once");
  EXPECT_EQ(commands().started.size(), 1u);
  commands().end(c1, exited(0));
  settle();
  EXPECT_TRUE(again.done());
}

TEST_F(ExecuteTest, InputResizeKill) {
  auto running = open(R"({"type":"execute","command":"x","command_id":"c1","pty":true})");
  socket->client_text(R"({"type":"input","data":"hé"})");
  socket->client_text(R"({"type":"resize","cols":132,"rows":43})");
  socket->client_text(R"({"type":"close_stdin"})");
  socket->client_text(R"({"type":"unknown"})");
  settle();
  EXPECT_EQ(commands().table.at(c1).stdin_bytes, "hé");
  EXPECT_EQ(commands().table.at(c1).size, (PtySize{43, 132}));
  EXPECT_FALSE(commands().table.at(c1).stdin_closed);  // a terminal has no half-close
  socket->client_text(R"({"type":"kill"})");
  socket->client_close(1006);
  settle();
  EXPECT_TRUE(running.done());
  EXPECT_EQ(commands().table.at(c1).signals, std::vector<int>{0});
}

TEST_F(ExecuteTest, FirstFrameErrors) {
  for (const auto* bad :
       {"nonsense", R"({"type":"dance"})", R"({"type":"execute"})", R"({"type":"reconnect"})",
        R"({"type":"execute","command":"x","env":{"A":"b"},"run_config":{"user":"u"}})"}) {
    auto running = open(bad);
    EXPECT_EQ(frame(0).at("type").as_string(), "error") << bad;
    EXPECT_TRUE(running.done());
  }
  auto unknown =
      open(R"({"type":"reconnect","command_id":"none","stdout_offset":0,"stderr_offset":0})");
  EXPECT_EQ(frame(0).at("error_type").as_string(), "CommandNotFound");
  commands().program = [](const CommandSpec&) {
    FakeProgram program;
    program.refuse = Error{Code::kInvalidArgument, "command_not_found", "no /no/shell", 0};
    return program;
  };
  auto shell = open(R"({"type":"execute","command":"x","shell":"/no/shell"})");
  EXPECT_EQ(frame(0).at("error_type").as_string(), "CommandError");
}

TEST_F(ExecuteTest, AStoppedBoxWakesAndOneThatCannotRefusesTheUpgrade) {
  EXPECT_EQ(call("POST", "/v2/sandboxes/boxes/box/stop", "{}")->status, 204);
  runtime.boot_error = Error{Code::kInternal, "mount_failed", "mount: EPERM", 0};
  auto refused = exchange("GET", base + "/execute/ws");
  refused->request.wants_websocket = true;
  serve(refused);
  EXPECT_EQ(refused->status, 503);
  EXPECT_EQ(refused->headers.get("Retry-After"), "1");
  runtime.boot_error.reset();
  EXPECT_EQ(call("POST", "/v2/sandboxes/boxes/box/start", "{}")->status, 202);
  settle();
  EXPECT_EQ(call("POST", "/v2/sandboxes/boxes/box/stop", "{}")->status, 204);
  auto running = open(kExecute);
  EXPECT_EQ(frame(0).at("type").as_string(), "started");
  auto unknown = exchange("GET", "/v2/sandboxes/dp/none/execute/ws");
  unknown->request.wants_websocket = true;
  EXPECT_EQ(serve(unknown)->status, 404);
  EXPECT_EQ(call("GET", base + "/execute/ws")->status, 400);
  socket->client_close();
  settle();
}

TEST_F(ExecuteTest, OverPlainHttp) {
  commands().program = [](const CommandSpec&) {
    FakeProgram program;
    program.output = {{Stream::kStdout, "a\xFF"}, {Stream::kStderr, "b"}};
    program.end = exited(4);
    return program;
  };
  const auto got =
      call("POST", base + "/execute", R"({"command":"x","timeout":10,"shell":"/bin/bash"})");
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(json(got).at("stdout").as_string(), "a\uFFFD");
  EXPECT_EQ(json(got).at("exit_code").as_int64(), 4);
  commands().program = [](const CommandSpec&) {
    FakeProgram program;
    program.end = ended(CommandState::kTimedOut, 9);
    return program;
  };
  const auto late = call("POST", base + "/execute", R"({"command":"x","timeout":1})");
  EXPECT_EQ(late->status, 408);
  EXPECT_EQ(type_of(late), "CommandError");
  EXPECT_EQ(type_of(call("POST", base + "/execute", "{}")), "CommandError");
  EXPECT_EQ(
      call("POST", base + "/execute", R"({"command":"x","env":{"A":"b"},"run_config":{}})")->status,
      400);
  EXPECT_EQ(call("POST", "/v2/sandboxes/dp/none/execute", R"({"command":"x"})")->status, 404);
}

TEST_F(ExecuteTest, AFullSpoolDoesNotHideTheEnd) {
  auto running = open(kExecute);
  commands().emit(c1, Stream::kStdout, "first");
  commands().drop(c1, Stream::kStdout, 5000);
  commands().emit(c1, Stream::kStdout, "last");
  commands().end(c1, exited(3));
  settle();
  ASSERT_EQ(socket->sent.size(), 5U);
  EXPECT_EQ(frame(1).at("data").as_string(), "first");
  EXPECT_NE(std::string(frame(2).at("data").as_string()).find("5000 bytes of output were dropped"),
            std::string::npos);
  EXPECT_EQ(frame(2).at("offset").to_number<int>(), 5);
  EXPECT_EQ(raw(3), R"({"type":"stdout","data":"last","offset":5005})");
  EXPECT_EQ(raw(4), R"({"type":"exit","exit_code":3})");
}

TEST_F(ExecuteTest, WhatChildrenWriteAfterTheEndHidesItNeither) {
  auto running = open(kExecute);
  commands().emit(c1, Stream::kStdout, "out");
  commands().end(c1, exited(3));
  commands().emit(c1, Stream::kStdout, "a child's");
  commands().drop(c1, Stream::kStdout, 5000);
  settle();
  EXPECT_EQ(text("stdout"), "out");
  EXPECT_EQ(socket->sent.back().data, R"({"type":"exit","exit_code":3})");
}

TEST_F(ExecuteTest, AFullSpoolDoesNotHideTheEndOfAPost) {
  auto running = begin(exchange("POST", base + "/execute", R"({"command":"x"})"));
  settle();
  ASSERT_EQ(commands().started.size(), 1U);
  const CommandId id = commands().started.at(0).id;
  EXPECT_EQ(running.exchange->subject, "command " + id.get())
      << "on record though its caller leaves now";
  commands().emit(id, Stream::kStdout, "first\xE2");
  commands().drop(id, Stream::kStdout, 5000);
  commands().emit(id, Stream::kStdout, "last");
  commands().emit(id, Stream::kStderr, "err");
  commands().end(id, exited(3));
  settle();
  ASSERT_EQ(running.exchange->status, 200) << running.exchange->answer_body;
  const auto got = json(running.exchange);
  EXPECT_EQ(got.at("exit_code").as_int64(), 3);
  EXPECT_EQ(got.at("stdout").as_string(),
            "first\uFFFD\n[cay: 5000 bytes of output were dropped here: the command wrote more "
            "than is kept]\nlast");
  EXPECT_EQ(got.at("stderr").as_string(), "err");
}

TEST_F(ExecuteTest, APostThatIsReallyTooLargeIsToldWithItsExitCode) {
  commands().program = [](const CommandSpec&) {
    FakeProgram program;
    program.output = {{Stream::kStdout, std::string(12'000'000, '\0')}};  // 72 MB as JSON
    program.end = exited(3);
    return program;
  };
  const auto got = call("POST", base + "/execute", R"({"command":"x"})");
  EXPECT_EQ(got->status, 400);
  EXPECT_NE(got->answer_body.find("exit code 3, but its output is more than the 64 MiB"),
            std::string::npos)
      << got->answer_body;
  commands().program = [](const CommandSpec&) {
    FakeProgram program;
    program.output = {{Stream::kStdout, std::string(12'000'000, '\0')}};
    program.end = ended(CommandState::kTimedOut, 9);
    return program;
  };
  EXPECT_EQ(call("POST", base + "/execute", R"({"command":"x","timeout":1})")->status, 408)
      << "it did not run to its end";
}

// These clients repeat a 429 by themselves: it is for what has not run.
TEST_F(ExecuteTest, APostWithoutRoomForItsAnswer) {
  const auto others = cay->answers().begin(TenantId("t1"));
  others->hold((256u << 20) - (3u << 20));
  commands().program = [](const CommandSpec&) {
    FakeProgram program;
    program.output = {{Stream::kStdout, std::string(1'000'000, '\0')}};  // 6 MB as JSON
    program.end = exited(3);
    return program;
  };
  const auto ran = call("POST", base + "/execute", R"({"command":"x"})");
  EXPECT_EQ(ran->status, 400);
  EXPECT_NE(ran->answer_body.find("exit code 3, but its output has no room"), std::string::npos)
      << ran->answer_body;
  const std::size_t begun = commands().started.size();
  others->hold(256u << 20);
  const auto refused = call("POST", base + "/execute", R"({"command":"x"})");
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(refused->headers.get("Retry-After"), "1");
  EXPECT_EQ(commands().started.size(), begun);
  others->hold(0);
  EXPECT_EQ(call("POST", base + "/execute", R"({"command":"x"})")->status, 200);
}

// "Not now" is no mistake of the caller's: these clients repeat the request after a 503, and after
// a close with 1000 before `started`.
class NotNowTest : public ExecuteTest {
 protected:
  testing::ExchangeHandle upgrade() {
    auto handle = exchange("GET", base + "/execute/ws");
    handle->request.wants_websocket = true;
    return serve(handle);
  }
  void expect_refused_upgrade(const std::string& words) {
    const auto refused = upgrade();
    EXPECT_EQ(refused->status, 503) << words;
    EXPECT_EQ(refused->headers.get("Retry-After"), "1");
    EXPECT_NE(refused->answer_body.find(words), std::string::npos) << refused->answer_body;
  }
  void expect_asked_again(const std::string& first) {
    auto running = open(first);
    EXPECT_TRUE(socket->sent.empty()) << raw(0);
    EXPECT_EQ(socket->closed_with, 1000);
    EXPECT_TRUE(running.done());
  }
  void expect_attached(const std::string& first) {
    auto running = open(first);
    EXPECT_EQ(frame(0).at("type").as_string(), "started");
    socket->client_close();
    settle();
  }
  void drain(bool on) {
    const Principal operator_key{
        .tenant = TenantId("default"), .key_name = "default", .scope = KeyScope::kAdmin};
    EXPECT_TRUE(core::testing::run<core::DrainStatus>(loop, cay->drain().set(operator_key, on)));
  }
  void pause() {
    EXPECT_TRUE(core::testing::run<Sandbox>(
        loop, cay->sandboxes().pause(exchange("GET", kBoxes)->principal(), "box")));
  }
};

constexpr const char* kAnother = R"({"type":"execute","command":"y","command_id":"c2"})";
constexpr const char* kReconnect =
    R"({"type":"reconnect","command_id":"c1","stdout_offset":0,"stderr_offset":0})";

TEST_F(NotNowTest, AHostThatIsDrainedRefusesTheUpgrade) {
  drain(true);
  expect_refused_upgrade("drained");
  drain(false);
  expect_attached(kExecute);
}

TEST_F(NotNowTest, WhatRanBeforeTheDrainIsComeBackToAndTheRestAsksAgain) {
  expect_attached(kExecute);
  drain(true);
  expect_attached(kReconnect);
  expect_attached(kExecute);
  for (int i = 0; i < 5; ++i) expect_asked_again(kAnother);
  auto last = open(kAnother);  // these clients give up now, so that the last one gets the reason
  EXPECT_EQ(frame(0).at("error_type").as_string(), "NotReady");
  EXPECT_NE(raw(0).find("drained"), std::string::npos);
  expect_asked_again(kAnother);
  auto old = open(R"({"type":"execute","command":"y"})");  // no id: a repeat could run twice
  EXPECT_EQ(frame(0).at("error_type").as_string(), "NotReady");
  EXPECT_EQ(commands().started.size(), 1U);
  drain(false);
  expect_attached(kAnother);
}

TEST_F(NotNowTest, APausedBoxStaysPaused) {
  pause();
  expect_refused_upgrade("paused");
  EXPECT_EQ(json(call("GET", std::string(kBoxes) + "/box/status")).at("status").as_string(),
            "stopped");
}

TEST_F(NotNowTest, WhatRunsInAPausedBoxIsComeBackTo) {
  expect_attached(kExecute);
  pause();
  expect_attached(kReconnect);
  expect_asked_again(kAnother);
}

TEST_F(NotNowTest, AStopInTheMidstOfAStartIsAskedAgain) {
  for (const Error& why :
       {Error{Code::kUnavailable, "shutting_down", "the sandbox is being stopped", 0},
        Error{Code::kLost, "keeper_lost", "the sandbox was stopped", 0}}) {
    commands().program = [why](const CommandSpec&) {
      FakeProgram program;
      program.refuse = why;
      return program;
    };
    expect_asked_again(kExecute);
  }
  commands().program = [](const CommandSpec&) { return FakeProgram{}; };
  expect_attached(kExecute);
}

TEST_F(NotNowTest, OverPlainHttpItIsNotReady) {
  const auto refused = [this](const std::string& path) {
    const auto got = call("POST", base + path, R"({"command":"x"})");
    EXPECT_EQ(got->status, 400) << path;
    EXPECT_EQ(type_of(got), "NotReady") << path;
  };
  drain(true);
  for (const auto* path : {"/execute", "/execute/stream/start"}) refused(path);
  drain(false);
  pause();
  for (const auto* path : {"/execute", "/execute/stream/start"}) refused(path);
}

}  // namespace
}  // namespace cay::api::langsmith
