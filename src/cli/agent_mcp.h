// The MCP servers whose tools an agent has: of files, and of an editor.
#pragma once
#include <string>
#include <vector>

#include "agent/tools/tool.h"

namespace cay::cli {

// The tools of the servers in `files`, which have the shape of .mcp.json. Fails kInvalidArgument
// (local_file, bad_mcp_config) and kUnavailable (mcp_failed).
Task<agent::Tools> mcp_tools_of(asio::any_io_executor loop, std::vector<std::string> files);

// The `mcpServers` of a session of the Agent Client Protocol, in the shape of .mcp.json.
codec::json::object editor_servers(const codec::json::array& servers);

}  // namespace cay::cli
