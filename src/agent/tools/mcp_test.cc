// MCP servers: one as a child (a shell script that answers line by line), one over HTTP.
#include "agent/tools/mcp.h"

#include <gtest/gtest.h>

#include <fstream>

#include "agent/tools/mcp_link.h"
#include "async/testing.h"
#include "base/testing/temp_dir.h"
#include "http/listener.h"

namespace cay::agent {
namespace {

namespace json = codec::json;
using cay::testing::run;

// Answers by the order of the requests: initialize, the notification, tools/list twice, then calls.
constexpr std::string_view kServer = R"sh(
read a; echo 'a line of a log'
echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}'
read b; read c
echo '{"jsonrpc":"2.0","id":"p","method":"ping"}'; read pong
echo '{"jsonrpc":"2.0","id":2,"result":{"tools":[{"name":"add.up","description":"Adds.",
"inputSchema":{"type":"object","properties":{"x":{"type":"number"}}},
"annotations":{"readOnlyHint":true}}],"nextCursor":"more"}}' | tr -d '\n'; echo
read d
echo '{"jsonrpc":"2.0","id":3,"result":{"tools":[{"name":"fail","inputSchema":{}}]}}'
read e
echo '{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"key:'"$GIVEN$LEAK"'"},
{"type":"image","mimeType":"image/png","data":"AAE="}]}}' | tr -d '\n'; echo
read f
echo '{"jsonrpc":"2.0","id":5,"error":{"code":-1,"message":"no such thing"}}'
read g
)sh";

class McpTest : public ::testing::Test {
 protected:
  json::object child() {
    const std::string path = directory.path() + "/server.sh";
    std::ofstream(path) << kServer;
    return {{"calc", json::object{{"command", "sh"},
                                  {"args", json::array{path}},
                                  {"env", json::object{{"GIVEN", "given"}}}}}};
  }
  ToolResult call(Tool& tool) {
    auto got = run(loop, tool.run({{"x", 1}}, {}));
    EXPECT_TRUE(got) << (got ? "" : got.error().message);
    return got ? *std::move(got) : ToolResult{};
  }
  static std::string text_of(const ToolResult& result) {
    const auto* text = std::get_if<Text>(&result.blocks.at(0));
    return text == nullptr ? std::string() : text->text;
  }

  asio::io_context loop;
  cay::testing::TempDir directory;
};

TEST_F(McpTest, AChildServesItsTools) {
  ::setenv("LEAK", "sk-canary", 1);
  auto tools = run(loop, mcp_tools(loop.get_executor(), {{"mcpServers", child()}}));
  ::unsetenv("LEAK");
  ASSERT_TRUE(tools) << tools.error().message;
  ASSERT_EQ(tools->size(), 2U);
  EXPECT_EQ((*tools)[0]->spec().name, "calc__add_up");
  EXPECT_EQ((*tools)[0]->spec().description, "Adds.");
  EXPECT_TRUE((*tools)[0]->spec().parameters.contains("properties"));
  EXPECT_EQ((*tools)[0]->repeat(), Repeat::kYes);
  EXPECT_EQ((*tools)[1]->repeat(), Repeat::kNo);
  auto got = call(*(*tools)[0]);
  EXPECT_EQ(text_of(got), "key:given");  // and no variable that "env" does not name
  ASSERT_EQ(got.blocks.size(), 2U);
  EXPECT_EQ(std::get<Media>(got.blocks[1]), (Media{"image/png", std::string("\0\1", 2)}));
  got = call(*(*tools)[1]);
  EXPECT_TRUE(got.failed);
  EXPECT_EQ(text_of(got), "Error: no such thing");
  // The server ends without an answer. The model reads that, and the run goes on.
  got = call(*(*tools)[1]);
  EXPECT_TRUE(got.failed);
  EXPECT_EQ(text_of(got), "Error: the server ended before it answered tools/call");
  got = call(*(*tools)[1]);
  EXPECT_EQ(text_of(got), "Error: the server has ended");
}

asio::awaitable<void> serve(std::shared_ptr<http::Exchange> exchange) {
  auto body = co_await exchange->read_body(1 << 20);
  const auto message = codec::parse_object(*body);
  const std::string method(message->at("method").get_string());
  http::Response response;
  if (!message->contains("id")) {
    response.status = 202;
    co_await exchange->respond(std::move(response));
    co_return;
  }
  json::object answer{{"jsonrpc", "2.0"}, {"id", message->at("id")}};
  const auto& headers = exchange->head().headers;
  const bool is_known = headers.get("Mcp-Session-Id") == "s1" && headers.get("X-Key") == "k";
  if (method == "initialize") {
    answer["result"] = json::object{{"capabilities", json::object{}}};
    response.headers.add("Mcp-Session-Id", "s1");
  } else if (method == "tools/list" && is_known) {
    answer["result"] = json::object{
        {"tools", json::array{json::object{{"name", "echo"}, {"inputSchema", json::object{}}}}}};
  } else {
    answer["result"] = json::object{{"structuredContent", message->at("params")}};
  }
  response.headers.add("Content-Type",
                       method == "tools/call" ? "text/event-stream" : "application/json");
  response.body = codec::write(answer);
  if (method == "tools/call") {
    response.body = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\ndata: " +
                    response.body + "\n\n";
  }
  co_await exchange->respond(std::move(response));
}

TEST_F(McpTest, AServerOverHttpKeepsItsSessionAndMayStream) {
  http::Listener server(loop.get_executor(), {}, serve);
  auto port = server.start();
  ASSERT_TRUE(port);
  json::object config{{"url", "http://127.0.0.1:" + std::to_string(*port) + "/mcp"},
                      {"headers", json::object{{"X-Key", "k"}}}};
  auto tools = run(loop, mcp_tools(loop.get_executor(), {{"web", config}}));
  ASSERT_TRUE(tools) << tools.error().message;
  ASSERT_EQ(tools->size(), 1U);
  EXPECT_EQ(tools->front()->spec().name, "web__echo");
  EXPECT_EQ(text_of(call(*tools->front())), R"({"name":"echo","arguments":{"x":1}})");
}

TEST_F(McpTest, ASessionThatTheServerEndedBeginsAnew) {
  int begun = 0;
  const auto handler = [&begun](std::shared_ptr<http::Exchange> exchange) -> asio::awaitable<void> {
    auto body = co_await exchange->read_body(1 << 20);
    const auto message = codec::parse_object(*body);
    const std::string method(message->at("method").get_string());
    const auto session = exchange->head().headers.get("Mcp-Session-Id");
    http::Response response;
    if (method == "initialize") {
      response.headers.add("Mcp-Session-Id", "s" + std::to_string(++begun));
    } else if (session != "s" + std::to_string(begun)) {
      response.status = 404;
    }
    if (message->contains("id")) {
      json::object tool{{"name", "echo"}, {"inputSchema", json::object{}}};
      const auto* params = message->if_contains("params");
      json::object result{{"structuredContent", params == nullptr ? json::value() : *params},
                          {"tools", json::array{std::move(tool)}}};
      response.body = codec::write(json::object{
          {"jsonrpc", "2.0"}, {"id", message->at("id")}, {"result", std::move(result)}});
    }
    response.headers.add("Content-Type", "application/json");
    co_await exchange->respond(std::move(response));
  };
  http::Listener server(loop.get_executor(), {}, handler);
  auto port = server.start();
  ASSERT_TRUE(port);
  json::object config{{"url", "http://127.0.0.1:" + std::to_string(*port) + "/mcp"}};
  auto tools = run(loop, mcp_tools(loop.get_executor(), {{"web", config}}));
  ASSERT_TRUE(tools) << tools.error().message;
  EXPECT_EQ(begun, 1);
  begun = 2;  // the server was started again, and knows s1 no more
  EXPECT_EQ(text_of(call(*tools->front())), R"({"name":"echo","arguments":{"x":1}})");
  EXPECT_EQ(begun, 3);
}

TEST_F(McpTest, AServerThatCannotBeHadIsNamed) {
  auto got = run(loop, mcp_tools(loop.get_executor(),
                                 {{"gone", json::object{{"command", "/no/such/program"}}}}));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().reason, "child_not_started");
  EXPECT_NE(got.error().message.find("'gone'"), std::string::npos);
  got = run(loop, mcp_tools(loop.get_executor(), {{"odd", json::object{{"type", "x"}}}}));
  EXPECT_EQ(got.error().reason, "bad_mcp_config");
  got = run(loop, mcp_tools(loop.get_executor(), {{"short", json::object{{"command", "true"}}}}));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, Code::kUnavailable);
}

}  // namespace
}  // namespace cay::agent
