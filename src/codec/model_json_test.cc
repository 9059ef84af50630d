#include "codec/model_json.h"

#include <gtest/gtest.h>

#include "codec/model_read.h"

namespace cay::codec {
namespace {

TEST(ModelJsonTest, SandboxThereAndBack) {
  Sandbox sandbox;
  sandbox.id = SandboxId("6f0a0000-0000-4000-8000-000000000000");
  sandbox.name = "sb1";
  sandbox.state = SandboxState::kStopped;
  sandbox.labels = {{"team", "a"}};
  sandbox.limits = {
      .cpu_millicores = 500, .memory_bytes = 1ull << 33, .disk_bytes = 1ull << 34, .pids = 7};
  sandbox.run.user = "user";
  sandbox.stopped_at = 5000;
  sandbox.network = {NetworkState::kUnavailable, "no such module"};
  sandbox.created_at = 1234;
  sandbox.profile = Profile::kStrict;
  const auto got = sandbox_from(parse(write(to_json(sandbox))).value_or({}));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->id, sandbox.id);
  EXPECT_EQ(got->state, sandbox.state);
  EXPECT_EQ(got->limits, sandbox.limits);
  EXPECT_EQ(got->run, sandbox.run);
  EXPECT_EQ(got->network, sandbox.network);
  EXPECT_EQ(got->stopped_at, sandbox.stopped_at);
  EXPECT_EQ(got->created_at, sandbox.created_at);
  EXPECT_EQ(got->profile, sandbox.profile);
}

TEST(ModelReadTest, AProfileIsAskedForByName) {
  SandboxSpec spec;
  spec.profile = "nested";
  EXPECT_EQ(read_create(to_json(spec))->spec.profile, "nested");
  EXPECT_EQ(read_create(to_json(SandboxSpec{}))->spec.profile, "") << "the daemon's own";
  EXPECT_NE(read_create(*parse_object(R"({"profile":""})")).error().message.find("profile"),
            std::string::npos);
  EXPECT_FALSE(read_create(*parse_object(R"({"profile":["strict"]})")));
  for (const Profile profile : kProfiles) EXPECT_EQ(profile_from(to_string(profile)), profile);
  EXPECT_EQ(profile_from("Strict"), std::nullopt);
}

TEST(ModelJsonTest, CommandThereAndBack) {
  Command command;
  command.id = CommandId("c1");
  command.argv = {"sh", "-c", "echo \xFF"};
  command.end.state = CommandState::kOomKilled;
  command.end.signal = 9;
  command.end.oom_kills = 2;
  command.out = {.bytes = 10, .end_offset = 9, .gap_begin = 1, .gap_end = 2};
  command.timeout_ms = 1500;
  const auto text = write(to_json(command));
  EXPECT_NE(text.find("\"exit_code\":null"), std::string::npos);
  const auto got = command_from(parse(text).value_or({}));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->end.state, CommandState::kOomKilled);
  EXPECT_EQ(got->end.signal, 9);
  EXPECT_EQ(got->argv[2], "echo \xEF\xBF\xBD");
  EXPECT_EQ(got->out.gap_end, 2u);
  EXPECT_EQ(got->timeout_ms, 1500);
}

Result<CommandRequest> command_request(std::string_view text) {
  CAY_TRY(auto in, parse_object(text));
  Fields fields(in);
  CommandRequest out;
  read_command_request(fields, out);
  fields.refuse_unknown();
  CAY_CHECK(fields.first_error());
  return out;
}

TEST(ModelReadTest, CommandDefaults) {
  const auto got = command_request(R"({"command":"echo hi"})");
  ASSERT_TRUE(got);
  EXPECT_EQ(got->spec.argv, (std::vector<std::string>{"/bin/sh", "-c", "echo hi"}));
  EXPECT_EQ(got->spec.timeout_ms, 60'000);
  EXPECT_TRUE(got->wait);
  EXPECT_TRUE(got->spec.close_stdin);
}

TEST(ModelReadTest, CommandSpecThereAndBack) {
  CommandSpec spec;
  spec.argv = {"cat"};
  spec.pty = PtySize{10, 20};
  spec.timeout_ms = 1500;
  spec.idle_timeout_ms = -1;
  const auto got = command_request(write(to_json(spec)));
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->spec.pty, spec.pty);
  EXPECT_EQ(got->spec.timeout_ms, 1500);
  EXPECT_EQ(got->spec.idle_timeout_ms, -1);
  EXPECT_FALSE(got->spec.close_stdin);
}

TEST(ModelReadTest, BadCommandsAreRefused) {
  for (const auto* bad :
       {R"({})", R"({"argv":[]})", R"({"argv":["a"],"command":"b"})",
        R"({"argv":["a"],"shell":"sh"})", R"({"argv":["a"],"timeout_s":-1})",
        R"({"argv":["a"],"id":"../x"})", R"({"argv":["a\u0000"]})",
        R"({"argv":["a"],"pty":{"rows":0,"cols":1}})", R"({"argv":["a"],"pty":{}})",
        R"({"argv":["a"],"stdin":"?"})", R"({"argv":["a"],"wat":1})", R"({"argv":[1]})"}) {
    const auto got = command_request(bad);
    ASSERT_FALSE(got) << bad;
    EXPECT_EQ(got.error().code, Code::kInvalidArgument);
  }
}

TEST(ModelReadTest, Signals) {
  EXPECT_EQ(signal_from("TERM"), 15);
  EXPECT_EQ(signal_from("SIGKILL"), 9);
  EXPECT_EQ(signal_from("2"), 2);
  EXPECT_EQ(signal_from("SYS"), 31);
  EXPECT_FALSE(signal_from("NOPE"));
  EXPECT_FALSE(signal_from("65"));
  EXPECT_FALSE(signal_from(""));
}

TEST(ModelReadTest, ErrorsThereAndBack) {
  const Error error{Code::kNotFound, "sandbox_not_found", "no sandbox \"x\"", 0};
  const Error got = error_from(write(json::object{{"error", to_json(error, "e1")}}));
  EXPECT_EQ(got.code, error.code);
  EXPECT_EQ(got.reason, error.reason);
  EXPECT_EQ(got.message, error.message);
  EXPECT_EQ(error_from("<html>").reason, "bad_answer");
}

TEST(ModelJsonTest, AMessageWithARemedyGetsNoneBesideIt) {
  const auto remedy = [](Code code, const char* reason, const char* message) {
    const auto shown = to_json(Error{code, reason, message, 0}, "id");
    return shown.contains("remedy") ? std::string(shown.at("remedy").as_string()) : "";
  };
  const std::string retry = "retry; if it stays so, run cay doctor",
                    doctor = "run cay doctor to see what this host lacks";
  EXPECT_EQ(remedy(Code::kUnavailable, "store_failed", "copy the store: disk I/O error"), retry);
  EXPECT_EQ(remedy(Code::kUnavailable, "link_lost", "the sandbox's keeper closed the connection"),
            retry);
  EXPECT_EQ(remedy(Code::kUnsupported, "network_unsupported", "this host cannot give a way out"),
            doctor);
  for (const char* reason : {"keeper_unreachable", "file_helper_died", "shutting_down",
                             "no_descriptors", "protocol_version", "no_layers"}) {
    EXPECT_EQ(remedy(Code::kUnavailable, reason, "it does not answer: retry"), "") << reason;
    EXPECT_EQ(remedy(Code::kUnsupported, reason, "it is older: restart it"), "") << reason;
  }
  EXPECT_EQ(
      remedy(Code::kNotReady, "sandbox_paused", "sandbox 'b' is paused: resume it (cay resume b)"),
      "cay resume b")
      << "the command of its message";
  EXPECT_EQ(
      remedy(Code::kNotReady, "sandbox_not_ready", "sandbox 'b' is not ready: it is being deleted"),
      "")
      << "nothing helps";
}

TEST(ModelJsonTest, PathsThatAreNotTextComeInBase64Too) {
  FileInfo info;
  info.path = "/a\xFF";
  const auto got = file_info_from(to_json(info));
  ASSERT_TRUE(got);
  EXPECT_EQ(got->path, info.path);
}

TEST(ModelReadTest, TimesBeyondNanosecondsStopAtTheirEnd) {
  const auto early =
      file_info_from(json::object{{"path", "/a"}, {"mtime", "1013-01-02T03:04:05Z"}});
  ASSERT_TRUE(early);
  EXPECT_EQ(early->mtime_ns, std::numeric_limits<std::int64_t>::min());
}

}  // namespace
}  // namespace cay::codec
