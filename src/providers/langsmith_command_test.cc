// LangSmith's wire: reconnections at the next byte, ends without an exit, names and errors.
#include "providers/langsmith_command.h"

#include <gtest/gtest.h>

#include "async/testing.h"
#include "client/testing/fake_http.h"
#include "providers/claim_name.h"
#include "providers/langsmith_api.h"

namespace cay::providers {
namespace {

using cay::testing::run;
using client::testing::closed_frame;
using client::testing::FakeHttp;
using client::testing::text_frame;

class LangSmithCommandTest : public ::testing::Test {
 protected:
  void socket(std::vector<http::WsMessage> frames) { log->sockets.emplace_back(std::move(frames)); }
  std::string output_of(LangSmithCommand& command, LangSmithEvent& end) {
    std::string out;
    for (;;) {
      auto event = run(loop, command.next());
      EXPECT_TRUE(event) << (event ? "" : event.error().message);
      if (!event) return out;
      if (event->ended) {
        end = *event;
        return out;
      }
      out += event->output;
    }
  }

  asio::io_context loop;
  std::shared_ptr<FakeHttp::Log> log = std::make_shared<FakeHttp::Log>();
  FakeHttp http{log};
};

TEST_F(LangSmithCommandTest, GoesOnAtTheNextByteWhereTheConnectionBroke) {
  const auto started = text_frame(R"({"type":"started","command_id":"c1","pid":7})");
  socket({started, text_frame(R"({"type":"stdout","data":"gr\u00fc","offset":0})"),
          text_frame(R"({"type":"novelty"})"), closed_frame(1006)});
  socket({started, text_frame(R"({"type":"stdout","data":"n\n","offset":4})"),
          text_frame(R"({"type":"exit","exit_code":9})")});
  LangSmithCommand command(http, {{"type", "execute"}, {"command_id", "c1"}, {"command", "x"}});
  LangSmithEvent end;
  EXPECT_EQ(output_of(command, end), "gr\xC3\xBCn\n");
  EXPECT_EQ(end.exit_code, 9);
  ASSERT_EQ(log->frames.size(), 2U);
  EXPECT_EQ(log->frames[0], R"({"type":"execute","command_id":"c1","command":"x"})");
  EXPECT_EQ(log->frames[1],
            R"({"type":"reconnect","command_id":"c1","stdout_offset":4,"stderr_offset":0})");
}

TEST_F(LangSmithCommandTest, RepeatsTheStartUnderItsIdUntilItIsAcknowledged) {
  socket({closed_frame(1000)});
  socket({text_frame(R"({"type":"error","error":"no time","error_type":"CommandTimeout"})")});
  LangSmithCommand command(http, {{"type", "execute"}, {"command_id", "c1"}});
  LangSmithEvent end;
  EXPECT_EQ(output_of(command, end), "");
  EXPECT_EQ(end.error_type, "CommandTimeout");
  EXPECT_FALSE(end.exit_code);
  EXPECT_EQ(log->frames[0], log->frames[1]);
}

TEST(LangSmithTest, AClaimHasAPlainNameOfItsOwn) {
  EXPECT_EQ(claim_name("thread-ab"), "thread-ab");
  const auto name = claim_name("thread:AB c");
  EXPECT_TRUE(name.starts_with("thread-c-")) << name;
  EXPECT_NE(name, claim_name("thread:AB-c"));
  EXPECT_LE(claim_name(std::string(300, 'x')).size(), 63U);
  EXPECT_TRUE(claim_name(":::").starts_with("c-"));
}

TEST(LangSmithTest, ErrorsHaveACodeAndTheServersWords) {
  auto error = langsmith_error(404, R"({"detail":{"error":"NotFound","message":"no box"}})");
  EXPECT_EQ(error.code, Code::kNotFound);
  EXPECT_NE(error.message.find("no box"), std::string::npos);
  EXPECT_EQ(langsmith_error(401, "").reason, "provider_key_refused");
  EXPECT_EQ(langsmith_error(400, R"({"detail":{"error":"NotReady","message":"x"}})").code,
            Code::kNotReady);
  EXPECT_EQ(langsmith_error(502, "<html>").code, Code::kUnavailable);
  EXPECT_EQ(langsmith_fault(R"({"detail":"text"})").message, "text");
}

}  // namespace
}  // namespace cay::providers
