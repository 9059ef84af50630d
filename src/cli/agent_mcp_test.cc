#include "cli/agent_mcp.h"

#include <gtest/gtest.h>

#include "async/testing.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

TEST(AgentMcpTest, ServersOfAnEditorAreThoseOfAFile) {
  const auto given = codec::parse(
      R"([{"name":"files","command":"/bin/x","args":["-a"],"env":[{"name":"K","value":"V"}]},)"
      R"({"type":"http","name":"web","url":"https://x/mcp",)"
      R"("headers":[{"name":"Authorization","value":"Bearer t"}]}])");
  EXPECT_EQ(codec::write(editor_servers(given->as_array())),
            R"({"files":{"command":"/bin/x","args":["-a"],"env":{"K":"V"}},)"
            R"("web":{"url":"https://x/mcp","headers":{"Authorization":"Bearer t"}}})");
}

TEST(AgentMcpTest, AFileThatIsNotThereIsNamed) {
  asio::io_context loop(1);
  const auto got = testing::run(loop, mcp_tools_of(loop.get_executor(), {"/nowhere/mcp.json"}));
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().reason, "local_file");
  EXPECT_NE(got.error().message.find("/nowhere/mcp.json"), std::string::npos);
}

}  // namespace
}  // namespace cay::cli
