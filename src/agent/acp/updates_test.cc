#include "agent/acp/updates.h"

#include <gtest/gtest.h>

namespace cay::agent::acp {
namespace {

namespace json = codec::json;

ThreadEvent event(std::string type, json::object data) {
  return {.seq = 1, .type = std::move(type), .at_ms = 0, .data = std::move(data)};
}

ThreadEvent said(const std::string& text, std::vector<ToolCall> calls = {}) {
  Message message = Message::of(Role::kAssistant, text);
  message.calls = std::move(calls);
  return event("assistant_message", {{"message", to_json(message)}});
}

TEST(UpdatesTest, TextIsAChunkUnlessItCameInPieces) {
  const auto updates = updates_of(said("hello"), false);
  ASSERT_EQ(updates.size(), 1U);
  EXPECT_EQ(codec::write(updates[0]),
            R"({"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hello"}})");
  EXPECT_TRUE(updates_of(said("hello"), true).empty());
}

TEST(UpdatesTest, AnEditShowsItsDiffAndItsPlace) {
  const auto updates = updates_of(
      said("", {{"c1", "edit_file", R"({"file_path":"/a.py","old_string":"x","new_string":"y"})"}}),
      true);
  ASSERT_EQ(updates.size(), 1U);
  EXPECT_EQ(updates[0].at("sessionUpdate"), "tool_call");
  EXPECT_EQ(updates[0].at("toolCallId"), "c1");
  EXPECT_EQ(updates[0].at("kind"), "edit");
  EXPECT_EQ(updates[0].at("status"), "pending");
  EXPECT_EQ(updates[0].at("title"), "edit_file /a.py");
  EXPECT_EQ(codec::write(updates[0].at("content")),
            R"([{"type":"diff","path":"/a.py","oldText":"x","newText":"y"}])");
  EXPECT_EQ(codec::write(updates[0].at("locations")), R"([{"path":"/a.py"}])");
}

TEST(UpdatesTest, TodosAreAPlan) {
  const auto updates = updates_of(
      said("", {{"c1", "write_todos",
                 R"({"todos":[{"content":"a","status":"completed"},{"content":"b"}]})"}}),
      true);
  ASSERT_EQ(updates.size(), 2U);
  EXPECT_EQ(codec::write(updates[1]),
            R"({"sessionUpdate":"plan","entries":[)"
            R"({"content":"a","priority":"medium","status":"completed"},)"
            R"({"content":"b","priority":"medium","status":"pending"}]})");
}

TEST(UpdatesTest, ACallStartsAndEnds) {
  const auto started = updates_of(event("tool_started", {{"call_id", "c1"}}), false);
  ASSERT_EQ(started.size(), 1U);
  EXPECT_EQ(started[0].at("status"), "in_progress");
  Message message = Message::of(Role::kTool, "Error: no");
  message.call_id = "c1";
  message.tool = "execute";
  message.failed = true;
  const auto ended =
      updates_of(event("tool_ended", {{"call_id", "c1"}, {"message", to_json(message)}}), false);
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_EQ(codec::write(ended[0]),
            R"({"sessionUpdate":"tool_call_update","toolCallId":"c1","status":"failed",)"
            R"("content":[{"type":"content","content":{"type":"text","text":"Error: no"}}]})");
}

TEST(UpdatesTest, AMalformedCallIsShownAllTheSame) {
  const json::object call = tool_call({"c1", "execute", "{\"comma"});
  EXPECT_EQ(call.at("title"), "execute");
  EXPECT_EQ(call.at("kind"), "execute");
}

TEST(UpdatesTest, StatesAreStopReasons) {
  EXPECT_EQ(stop_reason({{"state", "done"}}), "end_turn");
  EXPECT_EQ(stop_reason({{"state", "cancelled"}}), "cancelled");
  EXPECT_EQ(stop_reason({{"state", "limit"}, {"reason", "tokens"}}), "max_tokens");
  EXPECT_EQ(stop_reason({{"state", "limit"}, {"reason", "steps"}}), "max_turn_requests");
}

}  // namespace
}  // namespace cay::agent::acp
