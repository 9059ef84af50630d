#include "agent/llm/message.h"

#include <gtest/gtest.h>

namespace cay::agent {
namespace {

Message every_member() {
  Message message;
  message.role = Role::kAssistant;
  message.blocks = {Thinking{"hm", "sig"}, Text{"one "},
                    Media{"image/png", std::string("\0\xff", 2)}, Text{"two"}};
  message.calls = {{"c1", "execute", R"({"command":"ls"})"}, {"c2", "ls", "not JSON"}};
  return message;
}

TEST(MessageTest, TheLogGivesBackEveryMember) {
  const Message message = every_member();
  EXPECT_EQ(message.text(), "one two");
  auto same = message_from_json(to_json(message));
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_EQ(*same, message);

  Message result = Message::of(Role::kTool, "done");
  result.call_id = "c1";
  result.tool = "execute";
  result.failed = true;
  auto again = message_from_json(to_json(result));
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, result);
}

TEST(MessageTest, BytesThatAreNoTextBecomeText) {
  const auto written = codec::write(to_json(Message::of(Role::kUser,
                                                        "a\xff"
                                                        "b")));
  auto value = codec::parse_object(written);
  ASSERT_TRUE(value);
  auto read = message_from_json(*value);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->text(),
            "a\xEF\xBF\xBD"
            "b");
}

TEST(MessageTest, BrokenJsonIsRefused) {
  for (const char* text :
       {"{}", R"({"role":"king"})", R"({"role":"user","blocks":{}})",
        R"({"role":"user","blocks":[1]})", R"({"role":"user","blocks":[{"type":"smell"}]})",
        R"({"role":"user","blocks":[{"type":"media","mime":"image/png","base64":"*"}]})",
        R"({"role":"assistant","calls":[7]})"}) {
    auto value = codec::parse_object(text);
    ASSERT_TRUE(value);
    auto got = message_from_json(*value);
    ASSERT_FALSE(got) << text;
    EXPECT_EQ(got.error().reason, "bad_message");
  }
}

TEST(MessageTest, UsageAddsUp) {
  Usage sum{1, 2, 3, 4};
  sum += Usage{10, 20, 30, 40};
  EXPECT_EQ(sum, (Usage{11, 22, 33, 44}));
  EXPECT_EQ(codec::write(to_json(sum)),
            R"({"input":11,"output":22,"cache_read":33,"cache_write":44})");
}

}  // namespace
}  // namespace cay::agent
