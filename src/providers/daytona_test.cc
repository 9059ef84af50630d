// Daytona's wire: marks of logs, sessions that are found again, files of one request, errors.
#include <gtest/gtest.h>

#include "async/testing.h"
#include "client/testing/fake_http.h"
#include "providers/daytona_api.h"
#include "providers/daytona_backend.h"
#include "providers/daytona_files.h"

namespace cay::providers {
namespace {

using cay::testing::run;
using client::testing::closed_frame;
using client::testing::FakeHttp;

http::WsMessage piece(std::string bytes) {
  return {http::WsMessage::Kind::kBinary, std::move(bytes), 0};
}

TEST(DaytonaLogTest, AMarkIsTakenOutHoweverTheLogIsCut) {
  const std::string log =
      "\x01\x01\x01"
      "out\n\x02\x02\x02"
      "err\x01 \x02\x02"
      "end\n\x01\x01\x01";
  for (std::size_t cut = 0; cut <= log.size(); ++cut) {
    DaytonaLog reader;
    auto out = reader.take(log.substr(0, cut));
    out += reader.take(log.substr(cut));
    out += reader.end();
    EXPECT_EQ(out,
              "out\nerr\x01 \x02\x02"
              "end\n")
        << cut;
  }
  DaytonaLog reader;
  EXPECT_EQ(reader.take("a\x01\x01"), "a");
  EXPECT_EQ(reader.end(), "\x01\x01");
}

TEST(DaytonaErrorTest, AStatusAndItsCodeAreOneError) {
  auto error = daytona_error(404, R"({"message":"Sandbox with ID or name x not found"})");
  EXPECT_EQ(error.reason, "sandbox_not_found");
  EXPECT_NE(error.message.find("name x not found"), std::string::npos);
  EXPECT_EQ(daytona_error(404, R"({"message":"m","code":"PROCESS_NOT_FOUND"})").reason,
            "unknown_command");
  EXPECT_EQ(daytona_error(401, "").code, Code::kUnauthenticated);
  EXPECT_EQ(daytona_error(409, "").code, Code::kAlreadyExists);
  EXPECT_EQ(daytona_error(429, "").code, Code::kExhausted);
  EXPECT_EQ(daytona_error(502, "<html>").code, Code::kUnavailable);
  EXPECT_EQ(daytona_fault(R"({"error":"Bad Request"})").message, "Bad Request");
}

class DaytonaTest : public ::testing::Test {
 protected:
  // Answers of both planes, by the beginning of the request. Every other request gets 404.
  std::vector<std::pair<std::string, http::Response>> answers;
  asio::io_context loop;
  std::shared_ptr<FakeHttp::Log> log = std::make_shared<FakeHttp::Log>();
  FakeHttp http{log};
  std::unique_ptr<Backend> box;

  void SetUp() override {
    log->answer = [this](const std::string& request) -> Result<http::Response> {
      for (auto& [start, response] : answers) {
        if (request.starts_with(start)) return response;
      }
      return http::Response{404, {}, R"({"message":"nothing here"})"};
    };
    auto api = std::make_shared<DaytonaApi>(loop.get_executor(), DaytonaSettings{},
                                            std::make_unique<FakeHttp>(log));
    box = std::make_unique<DaytonaBackend>(api, std::make_unique<FakeHttp>(log), "b1", "/work");
  }
  void answer(std::string start, int status, std::string body) {
    answers.emplace_back(std::move(start), http::Response{status, {}, std::move(body)});
  }
  void socket(std::vector<http::WsMessage> frames) { log->sockets.emplace_back(std::move(frames)); }
  std::vector<std::string> sent(const std::string& start) const {
    std::vector<std::string> out;
    for (const auto& one : log->requests) {
      if (one.starts_with(start)) out.push_back(one);
    }
    return out;
  }
};

TEST_F(DaytonaTest, OutputGoesOnAtTheNextByteWhereTheConnectionBroke) {
  answer("POST /process/session/", 202, R"({"cmdId":"c1"})");
  answer("POST /process/session ", 201, "");
  answer("GET /process/session/", 200, R"({"id":"c1","command":"x","exitCode":7})");
  socket({piece("\x01\x01\x01one\n"), piece("\x01"), closed_frame(1006)});
  socket({piece("\x01\x01\x01one\n\x01\x01\x01tw"), piece("o\n"), closed_frame(1000)});
  std::string streamed;
  auto ran = run(loop, box->execute("x 'y'", {.id = "e1", .on_output = [&](std::string_view bytes) {
                                                streamed += bytes;
                                              }}));
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->output, "one\ntwo\n");
  EXPECT_EQ(streamed, ran->output);
  EXPECT_EQ(ran->exit_code, 7);
  EXPECT_EQ(ran->state, "exited");
  EXPECT_EQ(ran->total_bytes, 8U);
  const auto begun = sent("POST /process/session/");
  ASSERT_EQ(begun.size(), 1U);
  EXPECT_NE(begun[0].find(R"(/bin/sh -c 'x '\\''y'\\''' </dev/null 2>&1)"), std::string::npos)
      << begun[0];
  EXPECT_NE(begun[0].find(R"("runAsync":true)"), std::string::npos);
}

TEST_F(DaytonaTest, TheSameIdFindsTheCommandAndNeverRunsItTwice) {
  answer("POST /process/session ", 409, R"({"message":"session already exists"})");
  answer("GET /process/session/cay-", 200,
         R"({"sessionId":"s","commands":[{"id":"c9","command":"x"}],"exitCode":0})");
  socket({piece("\x01\x01\x01old\n"), closed_frame(1000)});
  auto ran = run(loop, box->execute("x", {.id = "e1"}));
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->output, "old\n");
  EXPECT_TRUE(sent("POST /process/session/").empty());
  EXPECT_NE(log->targets.at(0).find("/command/c9/logs?follow=true"), std::string::npos);
}

TEST_F(DaytonaTest, TimeThatIsOverEndsTheSession) {
  answer("POST /process/session/", 202, R"({"cmdId":"c1"})");
  answer("POST /process/session ", 201, "");
  answer("DELETE /process/session/", 204, "");
  socket({piece("\x01\x01\x01half")});  // and the connection cannot be had again
  auto ran = run(loop, box->execute("sleep 9", {.timeout_s = 0.05}));
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->state, "timed_out");
  EXPECT_EQ(ran->output, "half");
  EXPECT_EQ(sent("DELETE /process/session/").size(), 1U);
}

TEST_F(DaytonaTest, ASandboxThatIsGoneIsLost) {
  auto ran = run(loop, box->execute("x", {}));
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().reason, "sandbox_lost");
  answer("GET /sandbox/b1", 200, R"({"id":"b1","state":"stopped"})");
  ran = run(loop, box->execute("x", {}));
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().code, Code::kNotReady);
}

TEST_F(DaytonaTest, FilesOfARequestThatFailedAreSentOneByOne) {
  log->answer = [](const std::string& request) -> Result<http::Response> {
    const bool fails = request.find("/deny/") != std::string::npos;
    return fails ? http::Response{400,
                                  {},
                                  R"({"errors":["x"],"message":"/deny/b: permission denied"})"}
                 : http::Response{200, {}, R"({"files":[]})"};
  };
  auto done = run(loop, box->upload({{"/a", "1"}, {"b", "2"}, {"/deny/b", "3"}, {"/c\"d", "4"}}));
  ASSERT_TRUE(done) << done.error().message;
  std::vector<std::string> words;
  for (const auto& one : *done) words.push_back(one.error);
  EXPECT_EQ(words, (std::vector<std::string>{"", "invalid_path", "permission_denied", ""}));
  ASSERT_EQ(log->requests.size(), 4U);
  EXPECT_NE(log->requests[0].find("name=\"files[2].path\"\r\n\r\n/c\"d\r\n"), std::string::npos);
  EXPECT_NE(log->requests[0].find("name=\"files[2].file\"; filename=\"c%22d\""), std::string::npos);
}

TEST_F(DaytonaTest, ADownloadHasContentOrAWordForEachPath) {
  http::Response response{200, {}, ""};
  response.headers.add("Content-Type", "multipart/form-data; boundary=B");
  const auto part = [&](const std::string& name, const std::string& path, const std::string& body) {
    response.body += "--B\r\nContent-Disposition: form-data; name=\"" + name + "\"; filename=\"" +
                     path + "\"\r\nContent-Type: x/y\r\n\r\n" + body + "\r\n";
  };
  part("file", "/a", std::string("\0\r\n--\n", 6));
  part("error", "/no", R"({"message":"file not found","code":"FILE_NOT_FOUND","statusCode":404})");
  part("error", "/dir", R"({"message":"path /dir is a directory","code":"INVALID_FILE_PATH"})");
  response.body += "--B--\r\n";
  answers.emplace_back("POST /files/bulk-download", response);
  auto done = run(loop, box->download({"/a", "rel", "/no", "/dir"}));
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(done->at(0).content, std::string("\0\r\n--\n", 6));
  EXPECT_EQ(done->at(1).error, "invalid_path");
  EXPECT_EQ(done->at(2).error, "file_not_found");
  EXPECT_EQ(done->at(3).error, "is_directory");
  EXPECT_FALSE(done->at(2).content);
  answers.clear();
  response.body.resize(response.body.size() - 4);
  answers.emplace_back("POST /files/bulk-download", response);
  EXPECT_FALSE(run(loop, box->download({"/a"}))) << "an answer that broke off is no file";
}

TEST_F(DaytonaTest, ACommandInTheBackgroundIsReadAndKilled) {
  answer("GET /process/session/s1/command/c1/logs", 200,
         R"({"output":"\u0001\u0001\u0001one\n","stdout":"one\n","stderr":""})");
  answer("GET /process/session/s1/command/c1", 200, R"({"id":"c1","command":"x"})");
  answer("GET /process/session/s1", 200, R"({"sessionId":"s1","commands":[{"id":"c1"}]})");
  answer("DELETE /process/session/s1", 204, "");
  auto polled = run(loop, box->poll("s1", 2, 0));
  ASSERT_TRUE(polled) << polled.error().message;
  EXPECT_TRUE(polled->running());
  EXPECT_EQ(polled->output, "e\n");
  EXPECT_EQ(polled->next, 4U);
  ASSERT_TRUE(run(loop, box->kill("s1")));
  polled = run(loop, box->poll("s1", 0, 0));
  ASSERT_TRUE(polled) << polled.error().message;
  EXPECT_EQ(polled->state, "killed");
  EXPECT_EQ(polled->output, "one\n");
  EXPECT_EQ(run(loop, box->write_input("s1", "", true)).error().reason, "verb_unsupported");
}

}  // namespace
}  // namespace cay::providers
