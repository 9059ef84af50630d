#include "cli/agent_text_face.h"

#include <gtest/gtest.h>

#include <utility>

namespace cay::cli {
namespace {

namespace json = codec::json;
using agent::Message;
using agent::Role;

class TextFaceTest : public ::testing::Test {
 protected:
  void event(std::string type, json::object data, const std::string& thread = "t") {
    face_.on_event(thread, {.seq = ++seq_, .type = std::move(type), .data = std::move(data)});
  }
  void text(const std::string& piece) { face_.on_delta("t", {agent::Delta::Kind::kText, piece}); }
  void assistant(const std::string& words, std::vector<agent::ToolCall> calls = {},
                 const std::string& thread = "t") {
    Message message = Message::of(Role::kAssistant, words);
    message.calls = std::move(calls);
    event("assistant_message", {{"message", agent::to_json(message)}}, thread);
  }
  std::string shown() { return std::exchange(shown_, {}); }

  std::string shown_;
  std::uint64_t seq_ = 0;
  TextFace face_{{.thread = "t",
                  .answer = [this](std::string_view words) { shown_ += words; },
                  .note = [this](std::string_view words) { shown_ += words; }}};
};

TEST_F(TextFaceTest, StreamedTextIsShownOnce) {
  text("Hel");
  text("lo");
  EXPECT_EQ(shown(), "Hello");
  assistant("Hello");
  EXPECT_EQ(shown(), "\n");
  assistant("whole");
  EXPECT_EQ(shown(), "whole\n");
}

TEST_F(TextFaceTest, ACallIsALineWithItsOutput) {
  text("I run it.");
  assistant("I run it.", {{"c1", "execute", R"({"command":"python3 hello.py"})"}});
  event("tool_started", {{"call_id", "c1"}, {"name", "execute"}});
  face_.on_tool_output("t", "c1", "Hello\n");
  event("tool_ended", {{"call_id", "c1"},
                       {"message", agent::to_json(Message::of(Role::kTool, "Hello\n"))},
                       {"artifact", json::object{{"exit_code", 0}}}});
  EXPECT_EQ(shown(), "I run it.\n* execute python3 hello.py\n    Hello\n");
}

TEST_F(TextFaceTest, ACallOfAFormerRunHasItsArguments) {
  Message message = Message::of(Role::kAssistant, "earlier");
  message.calls = {{"c1", "execute", R"({"command":"ls"})"}};
  face_.remember({.type = "assistant_message", .data = {{"message", agent::to_json(message)}}});
  event("tool_started", {{"call_id", "c1"}, {"name", "execute"}});
  EXPECT_EQ(shown(), "* execute ls\n");
}

TEST_F(TextFaceTest, TheEndHasUsageAndCost) {
  assistant("a");
  assistant("b");
  shown();
  event("run_ended",
        {{"state", "done"},
         {"steps", 2},
         {"cost", 0.002},
         {"usage", json::object{{"input", 1234}, {"output", 56}, {"cache_read", 1000}}}});
  EXPECT_EQ(shown(), "cay: done: 2 steps, 1,234 tokens in (1,000 cached), 56 out, $0.0020\n");
  event("run_ended", {{"state", "limit"}, {"reason", "steps"}, {"steps", 1}});
  EXPECT_EQ(shown(), "cay: limit (steps): 1 step\n");
}

TEST_F(TextFaceTest, ABrokenAnswerBeginsAgain) {
  text("Hel");
  face_.on_delta("t", {agent::Delta::Kind::kRestarted, ""});
  EXPECT_EQ(shown(), "Hel\ncay: the connection to the model broke: this answer begins again\n");
  text("Hello");
  assistant("Hello");
  EXPECT_EQ(shown(), "Hello\n");
}

TEST_F(TextFaceTest, ALostSandboxAndNoSandboxAreLoud) {
  event("sandbox_lost", {{"id", "sb1"}, {"reason", "it was removed"}});
  EXPECT_EQ(shown(), "cay: sandbox sb1 is lost: it was removed\n");
  event("sandbox_bound", {{"provider", "local"}, {"id", "x"}});
  EXPECT_NE(shown().find("nothing is isolated"), std::string::npos);
}

TEST_F(TextFaceTest, WhatASubagentDoesIsOutputOfItsCall) {
  assistant("", {{"c1", "task", R"({"description":"count the files"})"}});
  event("tool_started", {{"call_id", "c1"}, {"name", "task"}});
  event("thread_created", {{"parent", "t"}, {"parent_call", "c1"}}, "t2");
  assistant("", {{"d1", "execute", R"({"command":"ls"})"}}, "t2");
  face_.on_delta("t2", {agent::Delta::Kind::kText, "never shown"});
  EXPECT_EQ(shown(), "* task count the files\n    * execute ls\n");
}

TEST_F(TextFaceTest, NothingPaintsTheTerminal) {
  text("\x1b]0;title\x07");
  event("sandbox_lost", {{"id", "\x1b[2J"}, {"reason", "\x9b"}});
  EXPECT_EQ(shown().find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace cay::cli
