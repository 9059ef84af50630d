// The toolbox over a fake runtime: what becomes of each end of a command, and of each file.
#include <utility>

#include "api/daytona/daytona_test.h"

namespace cay::api::daytona {
namespace {

using core::testing::ended;
using core::testing::exited;
using core::testing::FakeProgram;
using testing::ExchangeHandle;

class ToolboxTest : public DaytonaTest {
 protected:
  ToolboxTest()
      : base_("/daytona/toolbox/" + text(make_sandbox(), "id")),
        workdir_(text(json(get("/work-dir")), "dir")) {}

  ExchangeHandle post(const std::string& path, std::string body) {
    return call("POST", base_ + path, std::move(body));
  }
  ExchangeHandle get(const std::string& path) { return call("GET", base_ + path); }
  ExchangeHandle send_form(const std::string& path, std::string body) {
    auto asked = exchange("POST", base_ + path, std::move(body));
    asked->request.headers.add("Content-Type", "multipart/form-data; boundary=b");
    return serve(asked);
  }
  std::string code_of(const ExchangeHandle& answer) {
    const auto body = json(answer);
    EXPECT_EQ(text(body, "source"), "DAYTONA_DAEMON");
    EXPECT_EQ(text(body, "method"), answer->request.method);
    return text(body, "code");
  }
  void programs_end(CommandEnd end, std::string printed = {}) {
    commands().program = [end, printed](const CommandSpec&) {
      FakeProgram program;
      if (!printed.empty()) program.output.push_back({Stream::kStdout, printed});
      program.end = end;
      return program;
    };
  }

  std::string base_;
  std::string workdir_;
};

TEST_F(ToolboxTest, ExecuteGivesCodeAndOutput) {
  programs_end(exited(3), "out\n");
  const auto answer =
      post("/process/execute", R"({"command":"a","cwd":"x","envs":{"A":"1"},"timeout":2})");
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->answer_body, R"({"exitCode":3,"result":"out\n"})");
  const CommandSpec& spec = commands().started.back();
  EXPECT_EQ(spec.argv.back(), "a");
  EXPECT_EQ(spec.run.workdir, workdir_ + "/x");
  EXPECT_EQ(spec.run.env.at("A"), "1");
  EXPECT_EQ(spec.timeout_ms, 2000);
  EXPECT_TRUE(spec.close_stdin);
  EXPECT_FALSE(spec.kill_on_disconnect);
}

TEST_F(ToolboxTest, ALostCommandIsNoExitCode) {
  CommandEnd lost = ended(CommandState::kLost);
  lost.reason = "keeper lost";
  programs_end(lost);
  const auto answer = post("/process/execute", R"({"command":"a"})");
  EXPECT_EQ(answer->status, 500);
  EXPECT_EQ(code_of(answer), "INFRASTRUCTURE_FAILURE");
}

TEST_F(ToolboxTest, ATimeLimitIsATimeout) {
  programs_end(ended(CommandState::kTimedOut, 9));
  const auto answer = post("/process/execute", R"({"command":"a","timeout":1})");
  EXPECT_EQ(answer->status, 408);
  EXPECT_EQ(code_of(answer), "PROCESS_EXECUTION_TIMEOUT");
}

TEST_F(ToolboxTest, ABadDirectoryIsTheVendorsExitCode) {
  commands().program = [](const CommandSpec&) {
    FakeProgram program;
    program.refuse = Error{Code::kInvalidArgument, "bad_cwd", "/x: no such directory", 0};
    return program;
  };
  const auto answer = post("/process/execute", R"({"command":"a","cwd":"/x"})");
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(json(answer).at("exitCode"), -1);
}

TEST_F(ToolboxTest, ALongLineComesOnStdin) {
  commands().program = [](const CommandSpec&) {
    FakeProgram program;
    program.echo_stdin = true;
    return program;
  };
  const std::string line(200'000, 'x');
  const auto answer = post("/process/execute", R"({"command":")" + line + R"("})");
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(json(answer).at("result").as_string(), line);
  EXPECT_FALSE(commands().started.back().close_stdin);
}

TEST_F(ToolboxTest, RefusesWhatItCannotRead) {
  for (const char* body : {"", "{}", "{", R"({"command":""})", R"({"command":1})",
                           R"({"command":"a","envs":{"1A":""}})"}) {
    const auto answer = post("/process/execute", body);
    EXPECT_EQ(answer->status, 400) << body;
    EXPECT_EQ(code_of(answer), "INVALID_REQUEST_BODY") << body;
  }
  EXPECT_EQ(code_of(post("/process/code-run", R"({"code":"1","language":"x"})")), "BAD_REQUEST");
}

TEST_F(ToolboxTest, UploadsManyAndTellsEach) {
  files().put_directory(workdir_ + "/dir");
  const auto answer = send_form("/files/bulk-upload",
                                "--b\r\nContent-Disposition: form-data; name=\"files[0].path\"\r\n"
                                "\r\na.txt\r\n"
                                "--b\r\nContent-Disposition: form-data; name=\"files[0].file\"; "
                                "filename=\"a\"\r\n\r\none\r\n"
                                "--b\r\nContent-Disposition: form-data; name=\"files[1].file\"; "
                                "filename=\"b\"\r\n\r\ntwo\r\n--b--\r\n");
  EXPECT_EQ(answer->status, 400);
  EXPECT_EQ(files().bytes_of(workdir_ + "/a.txt"), "one");
  const auto body = json(answer);
  EXPECT_EQ(body.at("files").as_array().size(), 1u);
  EXPECT_EQ(body.at("errors").as_array().size(), 1u);
}

TEST_F(ToolboxTest, ABrokenFormIsNoFile) {
  const auto answer = send_form("/files/upload-v2?path=/c",
                                "--b\r\nContent-Disposition: form-data; name=\"file\"; "
                                "filename=\"c\"\r\n\r\nhalf");
  EXPECT_EQ(answer->status, 400);
  EXPECT_FALSE(files().bytes_of("/c"));
}

TEST_F(ToolboxTest, DownloadsEachPathForItself) {
  files().put("/a", "content");
  const auto answer = post("/files/bulk-download", R"({"paths":["/a","/none"]})");
  EXPECT_EQ(answer->status, 200);
  const std::string& body = answer->answer_body;
  EXPECT_NE(body.find("name=\"file\"; filename=\"/a\"\r\n"), std::string::npos) << body;
  EXPECT_NE(body.find("\r\n\r\ncontent\r\n--"), std::string::npos) << body;
  EXPECT_NE(body.find("name=\"error\"; filename=\"/none\"\r\n"), std::string::npos) << body;
  EXPECT_NE(body.find("\"code\":\"FILE_NOT_FOUND\""), std::string::npos) << body;
  EXPECT_EQ(post("/files/bulk-download", R"({"paths":[]})")->status, 400);
}

TEST_F(ToolboxTest, ADirectoryIsDeletedOnlyOnRequest) {
  files().put(workdir_ + "/d/f", "x");
  const auto refused = call("DELETE", base_ + "/files?path=d");
  EXPECT_EQ(refused->status, 400);
  EXPECT_EQ(code_of(refused), "BAD_REQUEST");
  EXPECT_EQ(call("DELETE", base_ + "/files?path=d&recursive=true")->status, 204);
  const auto gone = call("DELETE", base_ + "/files?path=d");
  EXPECT_EQ(gone->status, 404);
  EXPECT_EQ(code_of(gone), "FILE_NOT_FOUND");
}

TEST_F(ToolboxTest, GitThatIsMissingIsNamed) {
  commands().program = [](const CommandSpec&) {
    FakeProgram program;
    program.refuse = Error{Code::kInvalidArgument, "command_not_found", "git: not found", 0};
    return program;
  };
  const auto answer = get("/git/status?path=r");
  EXPECT_EQ(answer->status, 422);
  EXPECT_NE(text(json(answer), "message").find("apt-get install git"), std::string::npos);
}

TEST_F(ToolboxTest, ALoginIsInNoArgument) {
  programs_end(exited(0), "main\n");
  const auto answer = post("/git/push", R"({"path":"r","username":"u","password":"hunter2"})");
  EXPECT_EQ(answer->status, 200);
  const CommandSpec& spec = commands().started.back();
  for (const std::string& one : spec.argv) EXPECT_EQ(one.find("hunter2"), std::string::npos);
  EXPECT_EQ(spec.run.env.at("CAY_GIT_PASSWORD"), "hunter2");
}

TEST_F(ToolboxTest, ADesktopIsRefused) {
  const auto answer = post("/computeruse/mouse/click", "{}");
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(code_of(answer), "COMPUTER_USE_UNAVAILABLE");
  EXPECT_EQ(code_of(get("/computeruse/a11y/tree")), "A11Y_UNAVAILABLE");
}

}  // namespace
}  // namespace cay::api::daytona
