#include "api/native/native_test.h"
#include "model/command_limits.h"

namespace cay::api {
namespace {

using core::testing::exited;
using testing::FakeProgram;

class StreamTest : public NativeTest {
 protected:
  StreamTest() {
    box = make_box();
    commands().program = [](const CommandSpec&) { return FakeProgram{}; };
  }
  // Opens the socket and sends `first`.
  Running open(const std::string& first) {
    auto handle = exchange("GET", box + "/commands/ws");
    handle->request.wants_websocket = true;
    auto running = begin(handle);
    socket = handle->socket;
    EXPECT_TRUE(socket->sent.empty());
    socket->client_text(first);
    settle();
    return running;
  }
  codec::json::object text(std::size_t i) { return *codec::parse_object(socket->sent.at(i).data); }
  std::string type(std::size_t i) { return std::string(text(i).at("type").as_string()); }

  std::string box;
  std::shared_ptr<testing::FakeWebSocket> socket;
  const CommandId c1{"c1"};
};

TEST_F(StreamTest, StartStreamAndEnd) {
  auto running = open(R"({"type":"start","id":"c1","argv":["x"]})");
  ASSERT_EQ(type(0), "started");
  EXPECT_EQ(text(0).at("command").at("id").as_string(), "c1");
  commands().emit(c1, Stream::kStdout, std::string("a\0\xFF", 3));
  commands().emit(c1, Stream::kStderr, "e");
  commands().emit(c1, Stream::kStdout, "b");
  settle();
  ASSERT_EQ(socket->sent.size(), 4u);
  EXPECT_EQ(socket->sent[1].data, std::string("\1\0\0\0\0\0\0\0\0\0a\0\xFF", 13));
  EXPECT_EQ(socket->sent[2].data, std::string("\2\0\0\0\0\0\0\0\0\0e", 11));
  EXPECT_EQ(socket->sent[3].data, std::string("\1\0\3\0\0\0\0\0\0\0b", 11));
  commands().end(c1, exited(7));
  settle();
  EXPECT_EQ(type(4), "end");
  EXPECT_EQ(text(4).at("command").at("exit_code").as_int64(), 7);
  EXPECT_EQ(socket->closed_with, 1000);
  EXPECT_TRUE(running.done());
}

TEST_F(StreamTest, AttachFromOffsets) {
  call("POST", box + "/commands", R"({"id":"c1","argv":["x"],"wait":false})");
  commands().emit(c1, Stream::kStdout, "0123456789");
  commands().emit(c1, Stream::kStderr, "err");
  auto running = open(R"({"type":"attach","id":"c1","stdout_offset":8,"stderr_offset":3})");
  ASSERT_EQ(socket->sent.size(), 2u);
  EXPECT_EQ(socket->sent[1].data, std::string("\1\0\10\0\0\0\0\0\0\0"
                                              "89",
                                              12));
  socket->client_close();
  settle();
  EXPECT_TRUE(running.done());
  EXPECT_EQ(commands().table.at(c1).readers, 0);
  EXPECT_EQ(commands().table.at(c1).state.end.state, CommandState::kRunning);
}

TEST_F(StreamTest, StdinResizeAndKill) {
  auto running = open(R"({"type":"start","id":"c1","argv":["x"],"pty":{"rows":1,"cols":2}})");
  socket->client_binary(std::string("\0in", 3));
  socket->client_text(R"({"type":"resize","rows":7,"cols":8})");
  settle();
  EXPECT_EQ(commands().table.at(c1).stdin_bytes, "in");
  EXPECT_EQ(commands().table.at(c1).size, (PtySize{7, 8}));
  socket->client_text(R"({"type":"stdin_close"})");
  socket->client_text(R"({"type":"kill"})");
  settle();
  EXPECT_TRUE(commands().table.at(c1).stdin_closed);
  EXPECT_EQ(commands().table.at(c1).signals, std::vector<int>{0});
  EXPECT_TRUE(running.done());
}

TEST_F(StreamTest, AKillJustBeforeTheClientGoesIsObeyed) {
  auto running = open(R"({"type":"start","id":"c1","argv":["x"]})");
  socket->client_binary(std::string("\0last", 5));
  socket->client_text(R"({"type":"kill","signal":"INT"})");
  socket->client_close(1006);
  settle();
  EXPECT_TRUE(running.done());
  EXPECT_EQ(commands().table.at(c1).signals, std::vector<int>{2});
}

TEST_F(StreamTest, WhatIsRefusedIsAWarningAndTheStreamGoesOn) {
  auto running = open(R"({"type":"start","id":"c1","argv":["x"]})");
  for (const auto* bad : {"{", R"({"type":"what"})", R"({"type":"resize","rows":1,"cols":1})",
                          R"({"type":"kill","signal":"X"})"}) {
    socket->client_text(bad);
  }
  socket->client_binary("\7x");
  settle();
  ASSERT_EQ(socket->sent.size(), 6u);
  for (std::size_t i = 1; i < 6; ++i) EXPECT_EQ(type(i), "warning") << i;
  EXPECT_FALSE(running.done());
  commands().end(c1, exited(0));
  settle();
  EXPECT_TRUE(running.done());
}

TEST_F(StreamTest, BadFirstFrames) {
  for (const auto* bad :
       {"{", R"({"type":"x"})", R"({"type":"start"})", R"({"type":"attach"})",
        R"({"type":"attach","id":"none"})", R"({"type":"start","argv":["x"],"wat":1})"}) {
    auto running = open(bad);
    EXPECT_EQ(type(0), "error") << bad;
    EXPECT_EQ(socket->closed_with, 1000);
    EXPECT_TRUE(running.done());
  }
  EXPECT_TRUE(commands().started.empty());
}

TEST_F(StreamTest, AMessageThatIsTooLongIsAnErrorThatNamesTheLimit) {
  for (const bool first : {true, false}) {
    auto handle = exchange("GET", box + "/commands/ws");
    handle->request.wants_websocket = true;
    auto running = begin(handle);
    socket = handle->socket;
    EXPECT_EQ(handle->max_message, kMaxCommandRequest);
    if (!first) socket->client_text(R"({"type":"start","id":"c1","argv":["x"]})");
    settle();
    socket->client_too_long("the message is longer than 16777216 bytes");
    settle();
    ASSERT_EQ(socket->sent.size(), first ? 1u : 2u);
    const auto error = text(first ? 0 : 1).at("error").as_object();
    EXPECT_EQ(error.at("reason").as_string(), "body_too_large");
    EXPECT_NE(error.at("message").as_string().find("16777216 bytes"), std::string::npos);
    EXPECT_EQ(socket->closed_with, 1009);
    EXPECT_TRUE(running.done());
  }
  const auto state = commands().table.at(c1).state.end.state;
  EXPECT_EQ(state, CommandState::kRunning) << "what it ran already goes on";
}

TEST_F(StreamTest, GapsAndLossAreTold) {
  auto running = open(R"({"type":"start","id":"c1","argv":["x"]})");
  commands().drop(c1, Stream::kStdout, 5);
  settle();
  EXPECT_EQ(type(1), "gap");
  EXPECT_EQ(text(1).at("length").as_int64(), 5);
  die("keeper lost");
  settle();
  EXPECT_EQ(type(2), "error");
  EXPECT_EQ(text(2).at("error").at("code").as_string(), "lost");
  EXPECT_TRUE(running.done());
}

TEST_F(StreamTest, KillOnDisconnect) {
  auto running = open(R"({"type":"start","id":"c1","argv":["x"],"kill_on_disconnect":true})");
  socket->client_close();
  settle();
  EXPECT_TRUE(running.done());
  EXPECT_EQ(commands().table.at(c1).state.end.state, CommandState::kKilled);
}

TEST_F(StreamTest, NotAWebSocketOrNoSuchSandbox) {
  EXPECT_EQ(call("GET", box + "/commands/ws")->status, 426);
  auto handle = exchange("GET", "/api/v1/sandboxes/none/commands/ws");
  handle->request.wants_websocket = true;
  EXPECT_EQ(serve(handle)->status, 404);
}

}  // namespace
}  // namespace cay::api
