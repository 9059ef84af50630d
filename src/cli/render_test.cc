#include "cli/render.h"

#include <csignal>

#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "codec/json.h"

namespace cay::cli {
namespace {

sdk::CommandResult result(const std::string& state, std::optional<int> code,
                          std::optional<int> signal) {
  sdk::CommandResult out;
  out.command.id = "c1";
  out.command.state = state;
  out.command.exit_code = code;
  out.command.signal = signal;
  out.sandbox = "box";
  return out;
}

TEST(RenderTest, ExitCodesAreThoseOfAShell) {
  EXPECT_EQ(result("exited", 7, {}).command.shell_exit_code(), 7);
  EXPECT_EQ(result("exited", 137, {}).command.shell_exit_code(), 137);
  EXPECT_EQ(result("signalled", {}, 15).command.shell_exit_code(), 143);
  EXPECT_EQ(result("oom_killed", {}, 9).command.shell_exit_code(), 137);
  EXPECT_EQ(result("timed_out", {}, 9).command.shell_exit_code(), 124);
  EXPECT_EQ(result("killed", {}, 9).command.shell_exit_code(), 137);
  EXPECT_EQ(result("lost", {}, {}).command.shell_exit_code(), 125);
}

TEST(RenderTest, NothingPaintsTheTerminal) {
  EXPECT_EQ(printable("a\x1b[31m\x07\nb\x7f"), "a\\x1b[31m\\x07\\x0ab\\x7f");
  EXPECT_EQ(printable("one\ntwo\r", Newlines::kKept), "one\ntwo\\x0d");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m")
      << "CSI as one character";
  EXPECT_EQ(printable("\xc2\xa0\xc3\xa4 \xe6\xb2\x99"), "\xc2\xa0\xc3\xa4 \xe6\xb2\x99")
      << "text stays";
}

TEST(RenderTest, ErrorsBeforeTheCommandAreThoseOfAShell) {
  EXPECT_EQ(exit_code_of(ApiError(ErrorCode::kInvalidArgument, "command_not_found", "x")), 127);
  EXPECT_EQ(exit_code_of(ApiError(ErrorCode::kInvalidArgument, "not_executable", "x")), 126);
  EXPECT_EQ(exit_code_of(ApiError(ErrorCode::kNotFound, "sandbox_not_found", "x")), 125);
}

TEST(RenderTest, ResultHasThePromisedMembers) {
  auto got = result("signalled", {}, 9);
  got.out = "ok";
  got.err = "\xff";
  const auto object = codec::parse_object(result_json(got));
  ASSERT_TRUE(object);
  for (const char* member : {"state", "exit_code", "signal", "reason", "stdout_bytes",
                             "stderr_bytes", "truncated", "command_id", "sandbox"}) {
    EXPECT_TRUE(object->contains(member)) << member;
  }
  EXPECT_TRUE(object->at("exit_code").is_null());
  EXPECT_EQ(object->at("signal").as_int64(), 9);
  EXPECT_EQ(object->at("stdout").as_string(), "ok");
  EXPECT_EQ(object->at("stderr_base64").as_string(), "/w==");
  EXPECT_FALSE(object->contains("network_refused")) << "nobody asked";
  EXPECT_TRUE(codec::parse_object(result_json(got, codec::json::array{}))
                  ->at("network_refused")
                  .as_array()
                  .empty());
}

TEST(RenderTest, EndsThatNeedWordsGetThem) {
  EXPECT_NE(end_sentence(result("oom_killed", {}, 9).command).find("out of memory"),
            std::string::npos);
  EXPECT_NE(end_sentence(result("timed_out", {}, 9).command).find("timed out"), std::string::npos);
  EXPECT_EQ(end_sentence(result("signalled", {}, 9).command), "ended by signal 9 (SIGKILL)");
  EXPECT_EQ(end_sentence(result("signalled", {}, SIGPIPE).command), "");
  EXPECT_EQ(end_sentence(result("exited", 1, {}).command), "");
  EXPECT_EQ(end_sentence(result("exited", 137, {}).command), "");
}

TEST(RenderTest, TablesLineUpAndGuestsCannotPaintTheTerminal) {
  EXPECT_EQ(table({"A", "BB"}, {{"long", "x"}, {"\033[2J", ""}}),
            "A        BB\nlong     x\n\\x1b[2J\n");
}

TEST(RenderTest, ASnapshotIsShownWithWhereItCameFrom) {
  sdk::Snapshot image{.id = "i-1",
                      .name = "python",
                      .status = "ready",
                      .used_bytes = 3u << 20,
                      .origin = "image",
                      .image = "docker.io/library/python:3.12",
                      .tags = {"3.12", "latest"},
                      .config = {.command = {"python3", "-c", "a b"}}};
  EXPECT_EQ(snapshot_ref(image), "python:3.12");
  EXPECT_NE(snapshot_table({image}).find("3.12,latest"), std::string::npos);
  const std::string report = snapshot_report(image);
  EXPECT_NE(report.find("From         docker.io/library/python:3.12\n"), std::string::npos)
      << report;
  EXPECT_NE(report.find("'python3' '-c' 'a b'"), std::string::npos) << report;
  image.tags.clear();
  EXPECT_EQ(snapshot_ref(image), "i-1") << "the name may mean another one";
  EXPECT_EQ(snapshot_ref({.id = "i-2", .name = "default", .origin = "host"}), "default");
}

}  // namespace
}  // namespace cay::cli
