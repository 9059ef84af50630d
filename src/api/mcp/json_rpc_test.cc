#include "api/mcp/json_rpc.h"

#include <gtest/gtest.h>

namespace cay::api::mcp {
namespace {

Reading read(std::string_view text) {
  const auto value = codec::parse(text);
  EXPECT_TRUE(value) << text;
  return read_message(value ? *value : json::value());
}

int code_of(const Reading& reading) {
  const auto* wrong = std::get_if<RpcError>(&reading.got);
  return wrong == nullptr ? 0 : wrong->code;
}

TEST(JsonRpcTest, ReadsEachKindOfMessage) {
  const Reading request = read(R"({"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1}})");
  ASSERT_TRUE(std::holds_alternative<Message>(request.got));
  const Message& message = std::get<Message>(request.got);
  EXPECT_EQ(message.kind, Message::Kind::kRequest);
  EXPECT_EQ(message.id, 7);
  EXPECT_EQ(message.method, "ping");
  EXPECT_EQ(message.params.at("a"), 1);
  EXPECT_EQ(std::get<Message>(read(R"({"jsonrpc":"2.0","method":"x"})").got).kind,
            Message::Kind::kNotification);
  EXPECT_EQ(std::get<Message>(read(R"({"jsonrpc":"2.0","id":"a","result":{}})").got).kind,
            Message::Kind::kResponse);
}

TEST(JsonRpcTest, RefusesWhatIsNoMessage) {
  for (const char* text :
       {"1", "null", "\"x\"", "[]", "{}", R"({"jsonrpc":"1.0","id":1,"method":"ping"})",
        R"({"jsonrpc":2.0,"id":1,"method":"ping"})", R"({"id":1,"method":"ping"})",
        R"({"jsonrpc":"2.0","id":1,"method":7})", R"({"jsonrpc":"2.0","id":1})",
        R"({"jsonrpc":"2.0","result":{}})", R"({"jsonrpc":"2.0","id":null,"method":"ping"})",
        R"({"jsonrpc":"2.0","id":1.5,"method":"ping"})",
        R"({"jsonrpc":"2.0","id":[1],"method":"ping"})",
        R"({"jsonrpc":"2.0","id":true,"method":"ping"})"}) {
    EXPECT_EQ(code_of(read(text)), kInvalidRequest) << text;
  }
  EXPECT_EQ(code_of(read(R"({"jsonrpc":"2.0","id":1,"method":"x","params":[1]})")), kInvalidParams);
}

TEST(JsonRpcTest, AnErrorFindsItsRequest) {
  EXPECT_EQ(read(R"({"jsonrpc":"2.0","id":"abc","method":1})").id, "abc");
  EXPECT_TRUE(read(R"({"jsonrpc":"2.0","id":{},"method":"x"})").id.is_null());
}

TEST(JsonRpcTest, AnIdIsBounded) {
  EXPECT_TRUE(is_id(json::value(std::string(kMostId, 'x'))));
  EXPECT_FALSE(is_id(json::value(std::string(kMostId + 1, 'x'))));
  EXPECT_TRUE(is_id(json::value(INT64_MIN)));
  EXPECT_TRUE(is_id(json::value(UINT64_MAX)));
}

TEST(JsonRpcTest, WritesMessages) {
  EXPECT_EQ(codec::write(result_message(1, {{"a", 1}})),
            R"({"jsonrpc":"2.0","id":1,"result":{"a":1}})");
  EXPECT_EQ(codec::write(error_message(nullptr, {.code = kParseError, .message = "no"})),
            R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}})");
}

}  // namespace
}  // namespace cay::api::mcp
