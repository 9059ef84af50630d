#include "api/native/native_test.h"
#include "codec/base64.h"
#include "core/answer_room.h"
#include "core/verbs/events.h"

namespace cay::api {
namespace {

using core::testing::ended;
using core::testing::exited;
using testing::FakeProgram;

FakeProgram prints(std::string out, std::string err, CommandEnd end) {
  FakeProgram program;
  program.output = {{Stream::kStdout, std::move(out)}, {Stream::kStderr, std::move(err)}};
  program.end = std::move(end);
  return program;
}
FakeProgram runs_on(bool echo = false) {
  FakeProgram program;
  program.echo_stdin = echo;
  return program;
}

TEST_F(NativeTest, RunAndWait) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) { return prints("4\n", "warn\n", exited(7)); };
  const auto got =
      call("POST", box + "/commands", R"({"command":"echo 4","env":{"A":"1"},"cwd":"/tmp"})");
  ASSERT_EQ(got->status, 200) << got->answer_body;
  const auto result = json(got);
  EXPECT_EQ(result.at("state").as_string(), "exited");
  EXPECT_EQ(result.at("exit_code").as_int64(), 7);
  EXPECT_TRUE(result.at("signal").is_null());
  EXPECT_EQ(result.at("stdout").as_string(), "4\n");
  EXPECT_EQ(result.at("stderr").as_string(), "warn\n");
  EXPECT_EQ(result.at("stdout_bytes").as_int64(), 2);
  EXPECT_FALSE(result.at("truncated").as_bool());
  const CommandSpec& spec = commands().started.at(0);
  EXPECT_EQ(spec.argv, (std::vector<std::string>{"/bin/sh", "-c", "echo 4"}));
  EXPECT_EQ(spec.run.env.at("A"), "1");
  EXPECT_EQ(spec.timeout_ms, 60'000);
  EXPECT_TRUE(spec.close_stdin);
}

TEST_F(NativeTest, AWaitOfSomeSecondsEndsWithTheCommandOrWithoutIt) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) { return prints("4\n", "warn\n", exited(7)); };
  const auto ended = call("POST", box + "/commands", R"({"argv":["x"],"id":"c1","wait_s":60})");
  ASSERT_EQ(ended->status, 200) << ended->answer_body;
  const auto result = json(ended);
  EXPECT_EQ(result.at("stdout").as_string(), "4\n");
  EXPECT_EQ(result.at("stderr").as_string(), "warn\n");
  EXPECT_EQ(result.at("exit_code").as_int64(), 7);
  EXPECT_EQ(result.at("command").as_object().at("id").as_string(), "c1");
  // A repeat of the request is the same command.
  const auto again =
      json(call("POST", box + "/commands", R"({"argv":["x"],"id":"c1","wait_s":60})"));
  EXPECT_EQ(again.at("stdout").as_string(), "4\n");
  EXPECT_EQ(commands().started.size(), 1U);

  commands().program = [](const CommandSpec&) { return runs_on(); };
  const auto runs = call("POST", box + "/commands", R"({"argv":["x"],"id":"c2","wait_s":0.001})");
  ASSERT_EQ(runs->status, 201) << runs->answer_body;
  EXPECT_EQ(json(runs).at("state").as_string(), "running");
  EXPECT_EQ(commands().table.at(CommandId("c2")).readers, 0);

  commands().program = [](const CommandSpec&) { return prints("", "", exited(0)); };
  EXPECT_FALSE(json(call("POST", box + "/commands", R"({"argv":["x"]})")).contains("command"));
}

TEST_F(NativeTest, AWaitOfSomeSecondsGoesWithSomeMembersOnly) {
  const std::string box = make_box();
  for (const auto* bad :
       {R"({"argv":["x"],"wait_s":1,"wait":false})", R"({"argv":["x"],"wait_s":1,"stdin":"eA=="})",
        R"({"argv":["x"],"wait_s":1,"kill_on_disconnect":true})", R"({"argv":["x"],"wait_s":-1})",
        R"({"argv":["x"],"wait_s":"1"})"}) {
    EXPECT_EQ(call("POST", box + "/commands", bad)->status, 400) << bad;
  }
  EXPECT_EQ(call("POST", box + "/batch", R"({"command":{"argv":["x"],"wait_s":1}})")->status, 400);
  EXPECT_TRUE(commands().started.empty());
}

TEST_F(NativeTest, EndsAreToldAsTheyWere) {
  const std::string box = make_box();
  CommandEnd oom = ended(CommandState::kOomKilled, 9);
  oom.oom_kills = 1;
  for (const auto& [end, state, shell] :
       {std::tuple{ended(CommandState::kSignalled, 9), "signalled", 137},
        {ended(CommandState::kTimedOut, 9), "timed_out", 124},
        {oom, "oom_killed", 137},
        {exited(137), "exited", 137},
        {ended(CommandState::kLost), "lost", 125}}) {
    commands().program = [how = end](const CommandSpec&) { return prints("", "", how); };
    const auto result = json(call("POST", box + "/commands", R"({"argv":["x"]})"));
    EXPECT_EQ(result.at("state").as_string(), state);
    EXPECT_EQ(result.at("shell_exit_code").as_int64(), shell);
    EXPECT_EQ(result.at("exit_code").is_null(), std::string(state) != "exited");
  }
}

TEST_F(NativeTest, BytesThatAreNotTextComeInBase64) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) { return prints("\xFF\x01", "ok", exited(0)); };
  const auto result = json(call("POST", box + "/commands", R"({"argv":["x"]})"));
  EXPECT_FALSE(result.contains("stdout"));
  EXPECT_EQ(codec::from_base64(std::string(result.at("stdout_base64").as_string())), "\xFF\x01");
  EXPECT_EQ(result.at("stderr").as_string(), "ok");
}

TEST_F(NativeTest, LongOutputIsCutAndSaidToBe) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) {
    return prints(std::string(300'000, 'x'), "", exited(0));
  };
  const auto result =
      json(call("POST", box + "/commands", R"({"id":"c1","argv":["x"],"max_output_bytes":10})"));
  EXPECT_EQ(result.at("stdout").as_string(), "xxxxxxxxxx");
  EXPECT_EQ(result.at("stdout_bytes").as_int64(), 300'000);
  EXPECT_TRUE(result.at("truncated").as_bool());
  EXPECT_EQ(call("GET", box + "/commands/c1/output?offset=10")->answer_body,
            std::string(299'990, 'x'));
}

TEST_F(NativeTest, LongOutputKeepsItsEndAndSaysWhatIsLeftOut) {
  const std::string box = make_box();
  std::string out;
  for (int i = 0; i < 100'000; ++i) out += "\xE2\x98\x95";
  const std::string last = "\nx.c:1: error: expected ';'\n";
  const std::string whole = out + last;
  commands().program = [&](const CommandSpec&) { return prints(whole, "short", exited(1)); };
  const std::string asked = R"({"argv":["cc"],"max_output_bytes":4096})";
  const auto in_batch = json(call("POST", box + "/batch", R"({"command":)" + asked + "}"));
  const auto alone = json(call("POST", box + "/commands", asked));
  for (const auto& result : {alone, in_batch.at("command").as_object()}) {
    ASSERT_TRUE(result.contains("stdout")) << "no character is cut";
    const std::string got(result.at("stdout").as_string());
    EXPECT_LE(got.size(), 4096u);
    EXPECT_TRUE(got.ends_with(last));
    EXPECT_TRUE(result.at("truncated").as_bool());
    EXPECT_EQ(result.at("stdout_bytes").as_int64(), static_cast<std::int64_t>(whole.size()));
    const auto& gap = result.at("stdout_gap").as_object();
    const auto at = static_cast<std::size_t>(gap.at("at").as_int64());
    const auto note = static_cast<std::size_t>(gap.at("note_bytes").as_int64());
    const auto length = static_cast<std::size_t>(gap.at("length").as_int64());
    EXPECT_EQ(static_cast<std::size_t>(gap.at("offset").as_int64()), at);
    EXPECT_EQ(got.substr(at, note),
              "\n[cay: " + std::to_string(length) + " bytes of output are left out here]\n");
    EXPECT_EQ(got.substr(0, at) + whole.substr(at, length) + got.substr(at + note), whole);
    EXPECT_EQ(result.at("stderr").as_string(), "short");
    EXPECT_TRUE(result.at("stderr_gap").is_null());
  }
}

TEST_F(NativeTest, StdinIsWrittenAndClosed) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) { return runs_on(true); };
  const auto got = call("POST", box + "/commands",
                        R"({"argv":["cat"],"stdin":")" + codec::base64("hello") + R"("})");
  EXPECT_EQ(json(got).at("stdout").as_string(), "hello");
}

// Its sandbox was stopped below it, and its keeping time was over before the input came: who waits
// has its end all the same.
TEST_F(NativeTest, AWaitOutlivesTheKeepingTimeOfACommandThatTakesNoInputAnyMore) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) {
    FakeProgram program = prints("out", "", exited(3));
    program.stdin_error = Error{Code::kNotFound, "unknown_command", "no command with that id", 0};
    return program;
  };
  const std::string body =
      R"({"argv":["cat"],"ttl_s":0,"stdin":")" + codec::base64("hello") + R"("})";
  const auto got = call("POST", box + "/commands", body);
  ASSERT_EQ(got->status, 200) << got->answer_body;
  EXPECT_EQ(json(got).at("exit_code").as_int64(), 3);
  EXPECT_EQ(json(got).at("stdout").as_string(), "out");
  // Any other failure may have cut its input short.
  commands().program = [](const CommandSpec&) {
    FakeProgram program = runs_on();
    program.stdin_error = Error{Code::kUnavailable, "no_answer", "no answer", 0};
    return program;
  };
  const auto cut = call("POST", box + "/commands", body);
  EXPECT_EQ(cut->status, 503);
  EXPECT_NE(cut->answer_body.find("could not all be written"), std::string::npos)
      << cut->answer_body;
}

TEST_F(NativeTest, ARepeatWithTheSameIdRunsOnce) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) { return prints("once\n", "", exited(0)); };
  const std::string body = R"({"id":"c1","argv":["x"]})";
  EXPECT_EQ(json(call("POST", box + "/commands", body)).at("stdout").as_string(), "once\n");
  EXPECT_EQ(json(call("POST", box + "/commands", body)).at("stdout").as_string(), "once\n");
  EXPECT_EQ(commands().started.size(), 1u);
  EXPECT_EQ(call("POST", box + "/commands", R"({"id":"c1","argv":["y"]})")->status, 409);
}

// On record from its start: who leaves before its end has run it all the same.
TEST_F(NativeTest, ACommandIsTheSubjectBeforeItsEnd) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) { return runs_on(); };
  for (const auto& [path, body, subject] :
       {std::tuple("/commands", R"({"id":"c1","argv":["x"]})", "command c1"),
        std::tuple("/commands", R"({"id":"c2","argv":["x"],"wait":false})", "command c2"),
        std::tuple("/batch", R"({"command":{"id":"c3","argv":["x"]}})", "command c3"),
        std::tuple("/batch",
                   R"({"writes":[{"path":"/w","content":"w"}],"command":{"id":"c4","argv":["x"]},)"
                   R"("reads":["/w","/r"]})",
                   "command c4; writes 1: /w; reads 2: /w, /r")}) {
    const auto running = begin(exchange("POST", box + path, body));
    settle();
    EXPECT_EQ(running.exchange->subject, subject) << body;
    commands().end(CommandId(std::string(subject).substr(8, 2)), exited(0));
    settle();
    EXPECT_TRUE(running.done());
  }
}

TEST_F(NativeTest, BackgroundCommandsAndTheirVerbs) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) { return runs_on(); };
  const auto started =
      call("POST", box + "/commands",
           R"({"id":"c1","argv":["sh"],"wait":false,"pty":{"rows":10,"cols":20}})");
  ASSERT_EQ(started->status, 201) << started->answer_body;
  EXPECT_EQ(json(started).at("state").as_string(), "running");
  EXPECT_TRUE(json(started).at("exit_code").is_null());
  const std::string one = box + "/commands/c1";
  EXPECT_EQ(call("POST", one + "/stdin", "abc")->status, 204);
  EXPECT_EQ(commands().table.at(CommandId("c1")).stdin_bytes, "abc");
  EXPECT_EQ(call("POST", one + "/stdin/close")->status, 204);
  EXPECT_EQ(call("POST", one + "/stdin", "abc")->status, 409);
  EXPECT_EQ(call("POST", one + "/resize", R"({"rows":5,"cols":6})")->status, 204);
  EXPECT_EQ(commands().table.at(CommandId("c1")).size, (PtySize{5, 6}));
  EXPECT_EQ(call("DELETE", one)->status, 409);
  EXPECT_EQ(call("POST", one + "/kill", R"({"signal":"NOPE"})")->status, 400);
  EXPECT_EQ(call("POST", one + "/kill", R"({"signal":"TERM"})")->status, 204);
  EXPECT_EQ(commands().table.at(CommandId("c1")).signals, std::vector<int>{15});
  EXPECT_EQ(json(call("GET", one)).at("state").as_string(), "killed");
  EXPECT_EQ(json(call("GET", box + "/commands")).at("items").as_array().size(), 1u);
  EXPECT_EQ(call("DELETE", one)->status, 204);
  EXPECT_EQ(call("GET", one)->status, 404);
  EXPECT_EQ(call("POST", one + "/kill")->status, 404);
}

TEST_F(NativeTest, OutputFromAnyOffset) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) { return prints("0123456789", "err", exited(0)); };
  call("POST", box + "/commands", R"({"id":"c1","argv":["x"]})");
  const std::string output = box + "/commands/c1/output";
  const auto got = call("GET", output + "?offset=4");
  EXPECT_EQ(got->answer_body, "456789");
  EXPECT_EQ(got->headers.get("X-Cay-Offset"), "4");
  EXPECT_EQ(got->headers.get("X-Cay-Bytes"), "10");
  EXPECT_EQ(call("GET", output + "?stream=stderr")->answer_body, "err");
  EXPECT_EQ(call("GET", output + "?offset=10&follow=true")->answer_body, "");
  EXPECT_EQ(call("GET", output + "?offset=11")->status, 416);
  EXPECT_EQ(call("GET", output + "?stream=x")->status, 400);
  EXPECT_EQ(call("GET", output + "?offset=-1")->status, 400);
  EXPECT_EQ(call("GET", output + "?follow=x")->status, 400);
}

TEST_F(NativeTest, OutputOfARunningCommandIsWhatIsThereOrFollows) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) { return runs_on(); };
  call("POST", box + "/commands", R"({"id":"c1","argv":["x"],"wait":false})");
  const CommandId id("c1");
  commands().emit(id, Stream::kStdout, "one");
  const std::string output = box + "/commands/c1/output";
  EXPECT_EQ(call("GET", output)->answer_body, "one");
  auto following = begin(exchange("GET", output + "?follow=true"));
  settle();
  EXPECT_EQ(following.exchange->answer_body, "one");
  EXPECT_FALSE(following.done());
  commands().emit(id, Stream::kStdout, "two");
  commands().end(id, exited(0));
  settle();
  EXPECT_TRUE(following.done());
  EXPECT_EQ(following.exchange->answer_body, "onetwo");
}

TEST_F(NativeTest, DroppedOutputIsTold) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) { return runs_on(); };
  call("POST", box + "/commands", R"({"id":"c1","argv":["x"],"wait":false})");
  const CommandId id("c1");
  commands().emit(id, Stream::kStdout, "first");
  commands().drop(id, Stream::kStdout, 100);
  commands().emit(id, Stream::kStdout, "last");
  commands().end(id, exited(0));
  const auto got = call("GET", box + "/commands/c1/output");
  EXPECT_EQ(got->answer_body, "firstlast");
  EXPECT_EQ(got->headers.get("X-Cay-Gap"), "5-105");
  const auto waited = json(call("POST", box + "/commands", R"({"id":"c1","argv":["x"]})"));
  EXPECT_EQ(waited.at("stdout").as_string(),
            "first\n[cay: 100 bytes of output are left out here]\nlast");
  EXPECT_EQ(waited.at("stdout_gap").as_object().at("offset"), 5);
  EXPECT_EQ(waited.at("stdout_gap").as_object().at("length"), 100);
  EXPECT_TRUE(waited.at("truncated").as_bool());
}

TEST_F(NativeTest, OutputDroppedAfterTheHeadBreaksTheConnection) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) { return runs_on(); };
  call("POST", box + "/commands", R"({"id":"c1","argv":["x"],"wait":false})");
  const CommandId id("c1");
  commands().emit(id, Stream::kStdout, "first");
  auto following = begin(exchange("GET", box + "/commands/c1/output?follow=true"));
  settle();
  EXPECT_EQ(following.exchange->answer_body, "first");
  commands().drop(id, Stream::kStdout, 100);
  commands().emit(id, Stream::kStdout, "last");
  commands().end(id, exited(0));
  settle();
  EXPECT_TRUE(following.done());
  EXPECT_EQ(following.exchange->answer_body, "first");
  ASSERT_TRUE(following.exchange->broken);
  EXPECT_EQ(following.exchange->broken->reason, "output_dropped");
}

TEST_F(NativeTest, WhatIsTooLargeAsJsonIsRefused) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) {
    return prints(std::string(12'000'000, '\0'), "", exited(0));
  };
  const auto got =
      call("POST", box + "/commands", R"({"id":"c1","argv":["x"],"max_output_bytes":67108864})");
  EXPECT_EQ(got->status, 400);
  EXPECT_EQ(reason_of(got), "output_too_large");
}

// The tenant's other answers: they leave it so much.
class AnswersTest : public NativeTest {
 protected:
  static constexpr std::uint64_t kOfOneTenant = 256ull << 20;
  void leave(std::uint64_t bytes) { others->hold(kOfOneTenant - bytes); }
  const std::shared_ptr<core::AnswerRoom::Part> others = cay->answers().begin(TenantId("t1"));
};

TEST_F(AnswersTest, AnAnswerHasItsRoomUntilItWasSent) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) {
    return prints(std::string(300'000, '\1'), "", exited(0));
  };
  auto got = call("POST", box + "/commands", R"({"argv":["x"]})");
  EXPECT_EQ(got->status, 200);
  EXPECT_EQ(cay->answers().held(), 1'800'000U) << "as JSON";
  got.reset();
  EXPECT_EQ(cay->answers().held(), 0U);
  got = call("GET", "/api/v1/openapi.json");
  EXPECT_EQ(cay->answers().held(), got->answer_body.size());
  got = call("GET", box);
  EXPECT_EQ(cay->answers().held(), 0U) << "what is small is not counted";
}

TEST_F(AnswersTest, WithoutRoomNothingIsBegun) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) {
    return prints(std::string(5'000, 'x'), "", exited(0));
  };
  leave(1 << 20);
  for (const auto& [path, body] :
       {std::pair{"/commands", R"({"argv":["x"]})"},
        {"/batch", R"({"writes":[{"path":"/w","content":"w"}],"command":{"argv":["x"]}})"}}) {
    const auto refused = call("POST", box + path, body);
    EXPECT_EQ(refused->status, 429) << path;
    EXPECT_EQ(reason_of(refused), "too_many_answers");
    EXPECT_EQ(refused->headers.get("Retry-After"), "1");
  }
  EXPECT_TRUE(commands().started.empty());
  EXPECT_EQ(call("GET", box + "/files/stat?path=/w")->status, 404);
  EXPECT_EQ(call("POST", box + "/commands", R"({"argv":["x"],"max_output_bytes":500000})")->status,
            200)
      << "for so much there is room";
  EXPECT_EQ(call("POST", box + "/commands", R"({"argv":["x"],"wait":false})")->status, 201);
  leave(100'000);
  const auto document = call("GET", "/api/v1/openapi.json");
  EXPECT_EQ(document->status, 429);
  EXPECT_EQ(document->headers.get("Retry-After"), "1");
  others->hold(0);
  EXPECT_EQ(call("POST", box + "/commands", R"({"argv":["x"]})")->status, 200);
  EXPECT_EQ(call("GET", "/api/v1/openapi.json")->status, 200);
}

TEST_F(AnswersTest, AnotherTenantIsAnswered) {
  const std::string box = make_box();
  const auto theirs = cay->answers().begin(TenantId("t2"));
  theirs->hold(kOfOneTenant);
  commands().program = [](const CommandSpec&) {
    return prints(std::string(60'000'000, 'x'), "", exited(0));
  };
  EXPECT_EQ(
      call("POST", box + "/commands", R"({"argv":["x"],"max_output_bytes":60000000})")->status,
      200);
}

// A command that has run is not run again by who repeats what was refused.
TEST_F(AnswersTest, OutputThatFindsNoRoomIsKept) {
  const std::string box = make_box();
  leave(100'000);
  commands().program = [](const CommandSpec&) {
    return prints(std::string(30'000, '\1'), "", exited(3));
  };
  const auto escaped =
      call("POST", box + "/commands", R"({"id":"c1","argv":["x"],"max_output_bytes":50000})");
  EXPECT_EQ(escaped->status, 409);
  EXPECT_EQ(reason_of(escaped), "output_not_held");
  EXPECT_EQ(json(call("GET", box + "/commands/c1")).at("exit_code").as_int64(), 3);

  commands().program = [](const CommandSpec&) { return runs_on(); };
  auto waiting = begin(
      exchange("POST", box + "/commands", R"({"id":"c2","argv":["x"],"max_output_bytes":50000})"));
  commands().emit(CommandId("c2"), Stream::kStdout, std::string(20'000, 'a'));
  settle();
  EXPECT_EQ(cay->answers().held(), kOfOneTenant - 80'000);
  leave(30'000);
  commands().emit(CommandId("c2"), Stream::kStdout, std::string(20'000, 'b'));
  settle();
  EXPECT_EQ(cay->answers().held(), kOfOneTenant - 30'000) << "it holds nothing more";
  commands().emit(CommandId("c2"), Stream::kStdout, "c");
  commands().end(CommandId("c2"), exited(0));
  settle();
  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(waiting.exchange->status, 409);
  EXPECT_EQ(reason_of(waiting.exchange), "output_not_held");
  EXPECT_FALSE(waiting.exchange->headers.get("Retry-After"));
  EXPECT_EQ(call("GET", box + "/commands/c2/output")->answer_body.size(), 40'001U);
}

TEST_F(AnswersTest, AFileThatFindsNoRoomIsToldInItsPlace) {
  const std::string box = make_box();
  call("PUT", box + "/files?path=/large", std::string(200'000, 'x'));
  call("PUT", box + "/files?path=/small", "here");
  leave(150'000);
  const auto got = json(call("POST", box + "/batch", R"({"reads":["/large","/small","/large"]})"));
  const auto& reads = got.at("reads").as_array();
  EXPECT_EQ(reads[0].at("error").at("reason").as_string(), "too_many_answers");
  EXPECT_EQ(reads[1].at("content").as_string(), "here");
  EXPECT_EQ(reads[2].at("error").at("reason").as_string(), "too_many_answers");
  others->hold(0);
  const auto whole = json(call("POST", box + "/batch", R"({"reads":["/large"]})"));
  EXPECT_EQ(whole.at("reads").as_array()[0].at("content").as_string().size(), 200'000U);
  EXPECT_FALSE(whole.at("reads").as_array()[0].at("truncated").as_bool());
}

TEST_F(NativeTest, ALostSandboxIsNotAnExitCode) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) { return runs_on(); };
  auto waiting = begin(exchange("POST", box + "/commands", R"({"argv":["x"]})"));
  die("keeper lost");
  settle();
  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(waiting.exchange->status, 500);
  EXPECT_EQ(json(waiting.exchange).at("error").at("code").as_string(), "lost");
}

TEST_F(NativeTest, ALostSandboxIsNoEndOfAWaitOfSomeSeconds) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) { return runs_on(); };
  auto waiting = begin(exchange("POST", box + "/commands", R"({"argv":["x"],"wait_s":60})"));
  die("keeper lost");
  settle();
  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(waiting.exchange->status, 500);
  EXPECT_EQ(json(waiting.exchange).at("error").at("code").as_string(), "lost");
}

TEST_F(NativeTest, ADaemonThatEndsSaysThatTheCommandGoesOn) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) { return runs_on(); };
  auto waiting = begin(exchange("POST", box + "/commands", R"({"argv":["x"],"id":"c1"})"));
  EXPECT_FALSE(waiting.done());
  cay->events().end();
  settle();
  ASSERT_TRUE(waiting.done());
  EXPECT_EQ(waiting.exchange->status, 503);
  EXPECT_EQ(reason_of(waiting.exchange), "shutting_down");
  EXPECT_NE(waiting.exchange->answer_body.find("c1"), std::string::npos);
  EXPECT_EQ(json(call("GET", box + "/commands/c1")).at("state").as_string(), "running");
}

TEST_F(NativeTest, CommandsAreListedInPagesThatForgettingDoesNotShift) {
  const std::string box = make_box();
  for (const auto* id : {"a", "b", "c", "d"}) {
    ASSERT_EQ(call("POST", box + "/commands", R"({"argv":["x"],"id":")" + std::string(id) + R"("})")
                  ->status,
              200);
  }
  const auto ids = [](const codec::json::object& page) {
    std::string out;
    for (const auto& item : page.at("items").as_array()) out += item.at("id").as_string();
    return out;
  };
  const auto all = json(call("GET", box + "/commands"));
  EXPECT_EQ(ids(all), "abcd");
  EXPECT_TRUE(all.at("next_cursor").is_null());
  const auto first = json(call("GET", box + "/commands?limit=2"));
  EXPECT_EQ(ids(first), "ab");
  ASSERT_EQ(call("DELETE", box + "/commands/b")->status, 204);
  ASSERT_EQ(call("DELETE", box + "/commands/a")->status, 204);
  const auto rest = json(call(
      "GET", box + "/commands?limit=2&cursor=" + std::string(first.at("next_cursor").as_string())));
  EXPECT_EQ(ids(rest), "cd");
  EXPECT_TRUE(rest.at("next_cursor").is_null());
  for (const auto* bad :
       {"limit=0", "limit=1001", "cursor=", "cursor=7", "cursor=.a", "cursor=7.", "cursor=x.a"}) {
    EXPECT_EQ(call("GET", box + "/commands?" + bad)->status, 400) << bad;
  }
}

TEST_F(NativeTest, AListOfCommandsThatNoAnswerHoldsIsAskedForInPages) {
  const std::string box = make_box();
  commands().program = [](const CommandSpec&) {
    CommandEnd end = ended(CommandState::kLost);
    end.reason = std::string(6 << 20, '\0');  // 36 MiB of JSON
    return prints("", "", std::move(end));
  };
  for (const auto* id : {"a", "b"}) {
    ASSERT_EQ(call("POST", box + "/commands",
                   R"({"argv":["x"],"wait":false,"id":")" + std::string(id) + R"("})")
                  ->status,
              201);
  }
  const auto refused = call("GET", box + "/commands");
  EXPECT_EQ(refused->status, 429);
  EXPECT_EQ(reason_of(refused), "listing_too_large");
  EXPECT_NE(refused->answer_body.find("limit="), std::string::npos);
  EXPECT_EQ(call("GET", box + "/commands?limit=1")->status, 200);
}

}  // namespace
}  // namespace cay::api
