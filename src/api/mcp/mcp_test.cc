// /mcp over a real core with fake ports.
#include "api/mcp/mcp.h"

#include "api/mcp/json_rpc.h"
#include "api/mcp/tool_limits.h"
#include "api/testing/api_fixture.h"
#include "core/verbs/events.h"

namespace cay::api::mcp {
namespace {

using core::testing::exited;
using testing::ExchangeHandle;
using testing::FakeProgram;

class McpTest : public testing::ApiTest {
 protected:
  McpTest() { add_mcp_routes(router, *cay, {.version = "9.9.9", .names = {}}); }

  ExchangeHandle message(std::string body, std::string session = "s1") {
    auto out = exchange("POST", "/mcp", std::move(body));
    out->request.headers.add("Accept", "application/json");
    if (!session.empty()) out->request.headers.add("Mcp-Session-Id", std::move(session));
    return out;
  }
  ExchangeHandle post(std::string body) { return serve(message(std::move(body))); }
  static std::string call_of(const std::string& tool, const std::string& arguments) {
    return R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":")" + tool +
           R"(","arguments":)" + arguments + "}}";
  }
  json::object result(const ExchangeHandle& got) {
    EXPECT_EQ(got->status, 200) << got->answer_body;
    const json::object body = json(got);
    const json::value* found = body.if_contains("result");
    EXPECT_NE(found, nullptr) << got->answer_body;
    return found == nullptr ? json::object() : found->as_object();
  }
  json::object use(const std::string& tool, const std::string& arguments) {
    return result(post(call_of(tool, arguments)));
  }
  std::int64_t code(const ExchangeHandle& got) {
    const json::object body = json(got);
    const json::value* error = body.if_contains("error");
    EXPECT_NE(error, nullptr) << got->answer_body;
    return error == nullptr ? 0 : error->at("code").as_int64();
  }
  void make_box() { EXPECT_EQ(use("create_sandbox", R"({"name":"box"})").at("isError"), false); }
  static FakeProgram prints(std::string out, CommandEnd end) {
    FakeProgram program;
    program.output = {{Stream::kStdout, std::move(out)}};
    program.end = std::move(end);
    return program;
  }
};

TEST_F(McpTest, InitializeChoosesTheVersion) {
  for (const auto& [wanted, chosen] : {std::pair{"2025-03-26", "2025-03-26"},
                                       {"2025-06-18", "2025-06-18"},
                                       {"2025-11-25", "2025-11-25"},
                                       {"1999-01-01", "2025-11-25"}}) {
    const auto got = post(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{)"
                          R"("protocolVersion":")" +
                          std::string(wanted) + R"("}})");
    EXPECT_EQ(result(got).at("protocolVersion"), chosen);
    EXPECT_TRUE(got->headers.get("Mcp-Session-Id"));
  }
}

TEST_F(McpTest, TheStatelessVersionHasNoSession) {
  const auto got = post(R"({"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{)"
                        R"("io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})");
  EXPECT_EQ(result(got).at("resultType"), "complete");
  EXPECT_FALSE(got->headers.get("Mcp-Session-Id"));
  const auto unknown = post(R"({"jsonrpc":"2.0","id":1,"method":"nope","params":{"_meta":{)"
                            R"("io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})");
  EXPECT_EQ(unknown->status, 404);
  EXPECT_EQ(code(unknown), kMethodNotFound);
}

TEST_F(McpTest, AHeaderThatContradictsTheMessageIsRefused) {
  auto got = message(R"({"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{)"
                     R"("io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})");
  got->request.headers.add("Mcp-Method", "tools/call");
  EXPECT_EQ(serve(got)->status, 400);
  EXPECT_EQ(code(got), -32020);
}

TEST_F(McpTest, AnUnknownVersionIsNamed) {
  auto got = message(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
  got->request.headers.add("MCP-Protocol-Version", "2031-01-01");
  EXPECT_EQ(serve(got)->status, 400);
  EXPECT_EQ(code(got), kUnsupportedVersion);
}

TEST_F(McpTest, HostileMessagesGetTypedErrors) {
  EXPECT_EQ(code(post("{")), kParseError);
  EXPECT_EQ(code(post("")), kParseError);
  EXPECT_EQ(code(post(std::string(10'000, '['))), kParseError);
  EXPECT_EQ(code(post("7")), kInvalidRequest);
  EXPECT_EQ(code(post(R"({"jsonrpc":"2.0","id":1,"method":"nope"})")), kMethodNotFound);
  EXPECT_EQ(code(post(call_of("nope", "{}"))), kInvalidParams);
  EXPECT_EQ(code(post(call_of("run", "[]"))), kInvalidParams);
  EXPECT_EQ(code(post(call_of("run", R"({"sandbox":1})"))), kInvalidParams);
  EXPECT_EQ(code(post(call_of("create_sandbox", R"({"nam":"x"})"))), kInvalidParams);
  const auto large = post(std::string(static_cast<std::size_t>(kMostBody) + 1, ' '));
  EXPECT_EQ(large->status, 413);
  EXPECT_EQ(code(large), kInvalidRequest);
  auto session = message(R"({"jsonrpc":"2.0","id":1,"method":"ping"})", "a b");
  EXPECT_EQ(serve(session)->status, 400);
}

TEST_F(McpTest, ABatchIsOfOneVersionAndBounded) {
  const std::string ping = R"({"jsonrpc":"2.0","id":1,"method":"ping"})";
  EXPECT_EQ(post("[" + ping + "," + ping + "]")->answer_body,
            R"([{"jsonrpc":"2.0","id":1,"result":{}},{"jsonrpc":"2.0","id":1,"result":{}}])");
  EXPECT_EQ(post(R"([{"jsonrpc":"2.0","method":"notifications/initialized"}])")->status, 202);
  EXPECT_EQ(code(post("[]")), kInvalidRequest);
  std::string many = "[" + ping;
  for (int i = 0; i < 32; ++i) many += "," + ping;
  EXPECT_EQ(code(post(many + "]")), kInvalidRequest);
  auto newer = message("[" + ping + "]");
  newer->request.headers.add("MCP-Protocol-Version", "2025-06-18");
  EXPECT_EQ(code(serve(newer)), kInvalidRequest);
}

TEST_F(McpTest, RunTellsACommandsFailureFromCays) {
  make_box();
  commands().program = [](const CommandSpec&) { return prints("4\n", exited(0)); };
  const auto good = use("run", R"({"sandbox":"box","command":"echo 4"})");
  EXPECT_EQ(good.at("isError"), false);
  EXPECT_EQ(good.at("content").at(0).at("text"), "4\n");
  EXPECT_EQ(good.at("structuredContent").at("exit_code"), 0);
  EXPECT_TRUE(commands().started.at(0).kill_on_disconnect);

  commands().program = [](const CommandSpec&) { return prints("no\n", exited(3)); };
  const auto failed = use("run", R"({"sandbox":"box","command":"exit 3"})");
  EXPECT_EQ(failed.at("isError"), true);
  EXPECT_EQ(failed.at("content").at(0).at("text"), "no\n[the command exited with 3]");
  EXPECT_EQ(failed.at("structuredContent").at("exit_code"), 3);
  EXPECT_FALSE(failed.at("structuredContent").as_object().contains("error"));

  const auto ours = use("run", R"({"sandbox":"none","command":"x"})");
  EXPECT_EQ(ours.at("isError"), true);
  EXPECT_EQ(ours.at("structuredContent").at("error").at("reason"), "sandbox_not_found");
}

TEST_F(McpTest, AStreamHasProgressThenTheResponse) {
  make_box();
  commands().program = [](const CommandSpec&) { return prints("one\n", exited(0)); };
  auto got =
      message(R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"run",)"
              R"("arguments":{"sandbox":"box","command":"x"},"_meta":{"progressToken":"t"}}})");
  got->request.headers.set("Accept", "application/json, text/event-stream");
  serve(got);
  EXPECT_EQ(got->headers.get("Content-Type"), "text/event-stream");
  EXPECT_EQ(got->answer_body.find("event: message\ndata: "), 0u) << got->answer_body;
  const auto progress =
      got->answer_body.find(R"("progressToken":"t","progress":4,"message":"one\n")");
  const auto response = got->answer_body.find(R"("id":5,"result":)");
  EXPECT_NE(progress, std::string::npos) << got->answer_body;
  EXPECT_NE(response, std::string::npos) << got->answer_body;
  EXPECT_LT(progress, response);
}

TEST_F(McpTest, ACallIsCancelledByItsOwnSessionAlone) {
  make_box();
  commands().program = [](const CommandSpec&) { return FakeProgram(); };
  auto running = begin(message(call_of("run", R"({"sandbox":"box","command":"sleep 9"})")));
  settle();
  ASSERT_FALSE(running.done());
  const std::string cancel =
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})";
  EXPECT_EQ(serve(message(cancel, "s2"))->status, 202);
  EXPECT_EQ(serve(message(cancel, ""))->status, 202);
  auto stranger = message(cancel);
  stranger->who.key_name = "other";
  serve(stranger);
  settle();
  ASSERT_FALSE(running.done());
  EXPECT_EQ(post(cancel)->status, 202);
  settle();
  ASSERT_TRUE(running.done());
  EXPECT_EQ(code(running.exchange), kRequestCancelled);
}

TEST_F(McpTest, TheEndOfASessionCancelsItsCalls) {
  make_box();
  commands().program = [](const CommandSpec&) { return FakeProgram(); };
  auto running = begin(message(call_of("run", R"({"sandbox":"box","command":"sleep 9"})")));
  settle();
  auto end = exchange("DELETE", "/mcp");
  end->request.headers.add("Mcp-Session-Id", "s1");
  EXPECT_EQ(serve(end)->status, 204);
  settle();
  EXPECT_TRUE(running.done());
}

TEST_F(McpTest, AKeysScopeBoundsTheTools) {
  make_box();
  auto list = message(R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  list->who.scope = KeyScope::kRead;
  std::string names;
  const json::object listed = result(serve(list));
  for (const auto& tool : listed.at("tools").as_array())
    names += std::string(tool.at("name").as_string()) + " ";
  EXPECT_EQ(names, "list_sandboxes read_file ls glob grep ");
  for (const char* tool : {"delete_sandbox", "snapshot", "fork"}) {
    const std::string arguments = std::string(tool) == "snapshot"
                                      ? R"({"sandbox":"box","name":"x"})"
                                      : R"({"sandbox":"box"})";
    auto refused = message(call_of(tool, arguments));
    refused->who.scope = KeyScope::kRead;
    EXPECT_EQ(result(serve(refused)).at("structuredContent").at("error").at("reason"),
              "scope_too_small");
  }
  EXPECT_EQ(use("delete_sandbox", R"({"sandbox":"box"})").at("isError"), false);
}

TEST_F(McpTest, AnotherTenantsSandboxIsNotThere) {
  make_box();
  auto stranger = message(call_of("read_file", R"({"sandbox":"box","path":"/x"})"));
  stranger->who.tenant = TenantId("t2");
  EXPECT_EQ(result(serve(stranger)).at("structuredContent").at("error").at("reason"),
            "sandbox_not_found");
}

TEST_F(McpTest, FilesAreWrittenReadAndEdited) {
  make_box();
  EXPECT_EQ(
      use("write_file", R"({"sandbox":"box","path":"/a","content":"x\ny\nx\n"})").at("isError"),
      false);
  const auto part = use("read_file", R"({"sandbox":"box","path":"/a","first_line":2,"lines":1})");
  EXPECT_EQ(part.at("content").at(0).at("text"), "y\n");
  EXPECT_EQ(part.at("structuredContent").at("total_lines"), 3);
  const std::string edit = R"({"sandbox":"box","path":"/a","old_text":"x","new_text":"z")";
  const auto twice = use("edit_file", edit + "}");
  EXPECT_EQ(twice.at("isError"), true);
  EXPECT_EQ(twice.at("structuredContent").at("found"), 2);
  const std::string words(twice.at("content").at(0).at("text").as_string());
  EXPECT_NE(words.find("2 times in /a. Nothing was changed. Give more of the lines around it"),
            std::string::npos)
      << words;
  EXPECT_NE(words.find("replace_all"), std::string::npos);
  const auto none =
      use("edit_file", R"({"sandbox":"box","path":"/a","old_text":"q","new_text":""})");
  EXPECT_EQ(none.at("isError"), true);
  EXPECT_EQ(none.at("structuredContent").at("found"), 0);
  const auto missing =
      use("edit_file", R"({"sandbox":"box","path":"/none","old_text":"x","new_text":""})");
  EXPECT_EQ(missing.at("structuredContent").at("error").at("reason"), "file_not_found");
  EXPECT_EQ(
      use("edit_file", edit + R"(,"replace_all":true})").at("structuredContent").at("replaced"), 2);
  EXPECT_EQ(use("read_file", R"({"sandbox":"box","path":"/a"})").at("content").at(0).at("text"),
            "z\ny\nz\n");
}

TEST_F(McpTest, AnImageIsImageContent) {
  make_box();
  use("write_file",
      R"({"sandbox":"box","path":"/p","encoding":"base64","content":"iVBORw0KGgoAAA=="})");
  const auto image = use("read_file", R"({"sandbox":"box","path":"/p"})").at("content").at(0);
  EXPECT_EQ(image.at("type"), "image");
  EXPECT_EQ(image.at("mimeType"), "image/png");
  EXPECT_EQ(image.at("data"), "iVBORw0KGgoAAA==");
}

}  // namespace
}  // namespace cay::api::mcp
