#include "codec/base64.h"

#include "api/langsmith/langsmith_test.h"
#include "core/verbs/events.h"

namespace cay::api::langsmith {
namespace {

using core::testing::ended;
using core::testing::exited;
using testing::FakeProgram;

struct Told {
  std::string event;
  codec::json::object data;
};

class ExecuteStreamTest : public LangsmithTest {
 protected:
  ExecuteStreamTest() {
    base = data_plane(make_box());
    commands().program = [](const CommandSpec&) { return FakeProgram{}; };
  }
  Running start(const std::string& members = "") {
    auto running = begin(exchange("POST", base + "/execute/stream/start",
                                  R"({"command":"x","command_id":"c1")" + members + "}"));
    settle();
    return running;
  }
  testing::ExchangeHandle resume(std::uint64_t out, std::uint64_t err,
                                 const std::string& id = "c1") {
    const auto running =
        begin(exchange("POST", base + "/execute/stream/resume",
                       R"({"command_id":")" + id + R"(","stdout_offset":)" + std::to_string(out) +
                           R"(,"stderr_offset":)" + std::to_string(err) + "}"));
    settle();
    return running.exchange;
  }
  static std::vector<Told> events(const testing::ExchangeHandle& from) {
    std::vector<Told> out;
    std::string_view rest = from->answer_body;
    while (!rest.empty()) {
      const auto end = rest.find("\n\n");
      EXPECT_NE(end, std::string_view::npos) << rest;
      std::string_view one = rest.substr(0, end);
      rest.remove_prefix(end + 2);
      if (one.starts_with(":")) continue;
      EXPECT_TRUE(one.starts_with("event: ")) << one;
      const auto line = one.find("\ndata: ");
      auto data = codec::parse_object(one.substr(line + 7));
      EXPECT_TRUE(data) << one;
      out.push_back({std::string(one.substr(7, line - 7)), *data});
    }
    return out;
  }
  // The bytes of one stream; checks that each begins where the last one ended.
  static std::string bytes(const testing::ExchangeHandle& from, const std::string& stream,
                           std::uint64_t at = 0) {
    std::string out;
    for (const auto& one : events(from)) {
      if (one.event != stream) continue;
      EXPECT_EQ(one.data.at("offset").to_number<std::uint64_t>(), at + out.size());
      out += codec::from_base64(one.data.at("data").as_string()).value_or("?");
    }
    return out;
  }

  std::string base;
  const CommandId c1{"c1"};
};

TEST_F(ExecuteStreamTest, APlainRun) {
  auto running = start(
      R"(,"shell":"/bin/bash","timeout_seconds":9,"idle_timeout_seconds":300,"ttl_seconds":-1,)"
      R"("env":{"A":"1"},"cwd":"/x")");
  EXPECT_EQ(running.exchange->status, 200);
  EXPECT_EQ(running.exchange->headers.get("Content-Type"), "text/event-stream");
  const CommandSpec& spec = commands().started.at(0);
  EXPECT_EQ(spec.argv, (std::vector<std::string>{"/bin/bash", "-c", "x"}));
  EXPECT_EQ(spec.run.env.at("A"), "1");
  EXPECT_EQ(spec.run.workdir, "/x");
  EXPECT_EQ(spec.timeout_ms, 9000);
  EXPECT_TRUE(spec.close_stdin);
  commands().emit(c1, Stream::kStdout, std::string("a\xFF\0b", 4));
  commands().emit(c1, Stream::kStderr, "err");
  commands().end(c1, exited(3));
  settle();
  EXPECT_TRUE(running.done());
  EXPECT_TRUE(running.exchange->answer_body.starts_with(
      "event: started\ndata: {\"command_id\":\"c1\",\"pid\":100}\n\n"));
  EXPECT_EQ(bytes(running.exchange, "stdout"), std::string("a\xFF\0b", 4));
  EXPECT_EQ(bytes(running.exchange, "stderr"), "err");
  const auto told = events(running.exchange);
  ASSERT_EQ(told.size(), 6U);
  EXPECT_EQ(codec::write(told.at(3).data), R"({"stream":"stdout","offset":4})");
  EXPECT_EQ(codec::write(told.at(4).data), R"({"stream":"stderr","offset":3})");
  EXPECT_EQ(told.at(5).event, "exit");
  EXPECT_EQ(codec::write(told.at(5).data), R"({"exit_code":3})");
}

TEST_F(ExecuteStreamTest, ResumeAtEveryOffset) {
  auto running = start();
  const std::string all("a\xFF\0\xE2\x82\xAC\xC3", 7);
  commands().emit(c1, Stream::kStdout, all);
  commands().end(c1, exited(0));
  settle();
  for (std::size_t from = 0; from <= all.size(); ++from) {
    const auto again = resume(from, 0);
    EXPECT_EQ(events(again).front().event, "started");
    EXPECT_EQ(bytes(again, "stdout", from), all.substr(from));
    EXPECT_EQ(events(again).back().event, "exit");
  }
  const auto past = resume(all.size() + 1, 0);
  EXPECT_EQ(past->status, 416);
  EXPECT_EQ(type_of(past), "ReadOffsetUnavailable");
}

TEST_F(ExecuteStreamTest, EveryMebibyteIsAcknowledgedByTheNextRequest) {
  auto running = start();
  std::string all;
  for (int i = 0; all.size() < (5u << 19); ++i) all += std::to_string(i) + "\n";
  for (std::size_t at = 0; at < all.size(); at += 60'000)
    commands().emit(c1, Stream::kStdout, all.substr(at, 60'000));
  commands().end(c1, exited(0));
  settle();
  ASSERT_TRUE(running.done());
  std::string got = bytes(running.exchange, "stdout");
  auto last = events(running.exchange).back();
  int acknowledged = 0;
  while (last.event == "ack_required") {
    EXPECT_EQ(last.data.at("stdout_offset").to_number<std::uint64_t>(), got.size());
    EXPECT_EQ(last.data.at("stderr_offset").to_number<std::uint64_t>(), 0U);
    ++acknowledged;
    const auto more = resume(got.size(), 0);
    got += bytes(more, "stdout", got.size());
    last = events(more).back();
  }
  EXPECT_EQ(acknowledged, 2);
  EXPECT_EQ(last.event, "exit");
  EXPECT_EQ(got, all);
}

TEST_F(ExecuteStreamTest, ASilentCommandIsSeenToLive) {
  auto running = start();
  EXPECT_EQ(running.exchange->subject, "command c1") << "on record though its caller leaves now";
  // Real time: deadlines are the machine's.
  while (running.exchange->answer_body.find(": still running\n\n") == std::string::npos)
    loop.run_one();
  EXPECT_FALSE(running.done());
  commands().end(c1, ended(CommandState::kTimedOut, 9));
  settle();
  EXPECT_TRUE(running.done());
  EXPECT_EQ(events(running.exchange).back().data.at("error_type").as_string(), "CommandTimeout");
}

TEST_F(ExecuteStreamTest, ADaemonThatEndsSaysSo) {
  auto running = start();
  commands().emit(c1, Stream::kStdout, "before");
  settle();
  cay->events().end();
  settle();
  EXPECT_TRUE(running.done());
  EXPECT_EQ(bytes(running.exchange, "stdout"), "before");
  EXPECT_EQ(events(running.exchange).back().data.at("error_type").as_string(),
            "ServerShuttingDown");
  EXPECT_TRUE(commands().table.at(c1).signals.empty());
  commands().end(c1, exited(0));
}

TEST_F(ExecuteStreamTest, ALostCommandIsNoExit) {
  auto running = start();
  die("keeper lost");
  settle();
  EXPECT_TRUE(running.done());
  EXPECT_EQ(events(running.exchange).back().event, "error");
}

TEST_F(ExecuteStreamTest, AnIdRunsOnceAndStaysWithItsTransport) {
  auto running = start();
  commands().emit(c1, Stream::kStdout, "once");
  auto again = start();  // a client that did not hear the answer
  EXPECT_EQ(bytes(again.exchange, "stdout"), "once");
  EXPECT_EQ(commands().started.size(), 1U);
  const auto over_socket = [this](const std::string& first) {
    auto handle = exchange("GET", base + "/execute/ws");
    handle->request.wants_websocket = true;
    auto session = begin(handle);
    settle();
    handle->socket->client_text(first);
    settle();
    return handle->socket->sent.at(0).data;
  };
  EXPECT_NE(over_socket(R"({"type":"reconnect","command_id":"c1"})").find("TransportMismatch"),
            std::string::npos);
  EXPECT_NE(over_socket(R"({"type":"execute","command":"x","command_id":"c1"})")
                .find("TransportMismatch"),
            std::string::npos);
  EXPECT_NE(over_socket(R"({"type":"execute","command":"x","command_id":"c2"})").find("started"),
            std::string::npos);
  const auto mismatch = resume(0, 0, "c2");
  EXPECT_EQ(mismatch->status, 409);
  EXPECT_EQ(type_of(mismatch), "TransportMismatch");
  commands().end(c1, exited(0));
  commands().end(CommandId("c2"), exited(0));
  settle();
}

TEST_F(ExecuteStreamTest, DroppedBytesAreMarkedInTheirPlace) {
  auto running = start();
  commands().emit(c1, Stream::kStdout, "first");
  commands().drop(c1, Stream::kStdout, 5000);
  commands().emit(c1, Stream::kStdout, "last");
  commands().end(c1, exited(3));
  settle();
  const auto told = events(running.exchange);
  ASSERT_EQ(told.size(), 7U);
  const std::string note = codec::from_base64(told.at(2).data.at("data").as_string()).value_or("");
  EXPECT_NE(note.find("5000 bytes of output were dropped"), std::string::npos);
  EXPECT_EQ(told.at(2).data.at("offset").to_number<std::uint64_t>() + note.size(), 5005U);
  EXPECT_EQ(told.at(3).data.at("offset").to_number<std::uint64_t>(), 5005U);
  EXPECT_EQ(codec::write(told.at(6).data), R"({"exit_code":3})");
}

TEST_F(ExecuteStreamTest, Refusals) {
  EXPECT_EQ(resume(0, 0, "none")->status, 404);
  EXPECT_EQ(type_of(resume(0, 0, "none")), "CommandNotFound");
  const auto refused = [this](const std::string& path, const std::string& body, int status) {
    const auto got = call("POST", base + path, body);
    EXPECT_EQ(got->status, status) << body << got->answer_body;
  };
  refused("/execute/stream/start", "nonsense", 400);
  refused("/execute/stream/start", "{}", 400);
  refused("/execute/stream/start", R"({"command":"x","pty":true})", 400);
  refused("/execute/stream/start", R"({"command":"x","kill_on_disconnect":true})", 400);
  refused("/execute/stream/start", R"({"command":"x","env":{"A":"b"},"run_config":{"user":"u"}})",
          400);
  refused("/execute/stream/resume", "{}", 400);
  refused("/execute/stream/resume", R"({"command_id":"c1","stdout_offset":-1})", 400);
  EXPECT_TRUE(commands().started.empty());
  EXPECT_EQ(
      call("POST", "/v2/sandboxes/dp/none/execute/stream/start", R"({"command":"x"})")->status,
      404);
}

}  // namespace
}  // namespace cay::api::langsmith
