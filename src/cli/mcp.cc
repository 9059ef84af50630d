// cay mcp: the daemon's MCP server on this program's stdin and stdout, for clients that start it.
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <memory>
#include <thread>

#include "cli/command.h"
#include "cli/context.h"
#include "cli/exit_code.h"
#include "cli/mcp_bridge.h"
#include "cli/output.h"

namespace cay::cli {
namespace {

Result<std::unique_ptr<http::Client>> http_client(const asio::any_io_executor& loop) {
  const auto found = sdk::ClientOptions::from_environment();
  if (found.api_key.empty()) return Error{Code::kUnauthenticated, "no_key", found.key_problem, 0};
  http::ClientOptions options;
  options.url = found.url;
  options.ca_file = found.ca_file;
  options.headers.add("X-Api-Key", found.api_key);
  options.headers.add("User-Agent", "cay-mcp");
  return http::Client::create(loop, std::move(options));
}

int mcp_command(Context&, const int&) {
  asio::io_context loop(1);
  auto client = http_client(loop.get_executor());
  if (!client) {
    print_error(client.error().message);
    return kOurFailure;
  }
  McpBridge bridge(loop.get_executor(), *std::move(client), [](std::string line) { print(line); });
  // A read of stdin may be of a file, and a file cannot be waited for. This thread ends with the
  // program.
  std::thread([&bridge] { bridge.read_lines(STDIN_FILENO); }).detach();
  asio::co_spawn(loop, bridge.serve(), [](std::exception_ptr failed) {
    if (failed) std::rethrow_exception(failed);
  });
  loop.run();
  return kOk;
}

}  // namespace

Command mcp_entry() {
  return {.name = "mcp",
          .help = "Serve MCP on stdin and stdout, for an editor or a desktop client",
          .examples =
              "  A client that starts programs has a file of servers. Add this to it:\n\n"
              "    {\"mcpServers\": {\n"
              "      \"cay\": {\"command\": \"cay\", \"args\": [\"mcp\"]}\n"
              "    }}\n\n"
              "  A client that takes a URL: CAY_URL/mcp, with the header\n"
              "  `Authorization: Bearer KEY`. CAY_URL is http://127.0.0.1:8787 by default.\n\n"
              "  The client's model then has the tools create_sandbox, run, read_file and more.\n"
              "  docs/guide/mcp.md lists them. `cay mcp` ends when its stdin ends, and ends what\n"
              "  is under way. It writes logs to stderr alone.\n",
          .options = [](Options&) {},
          .args = [](const Line&) -> std::any { return 0; },
          .run = runs(mcp_command)};
}

}  // namespace cay::cli
