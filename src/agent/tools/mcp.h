// Tools of MCP servers (Model Context Protocol, revision 2025-06-18), as a client over stdio and
// over streamable HTTP.
#pragma once
#include <boost/asio/any_io_executor.hpp>

#include "agent/tools/tool.h"
#include "codec/json.h"

namespace cay::agent {

// Connects to each server, and returns its tools. `servers` has the shape of .mcp.json: an object
// of names, each with "command", "args" and "env", or with "url" and "headers". A wrapping
// "mcpServers" may stand around it.
//
// A tool's name is SERVER__TOOL, so that none takes the place of a built-in one. A server on this
// host is a child of this process, and gets the variables that its "env" names and a few harmless
// ones. The connections live as long as the tools.
//
// Fails kInvalidArgument (bad_mcp_config) and kUnavailable (mcp_failed), with the server's name.
Task<Tools> mcp_tools(asio::any_io_executor executor, codec::json::object servers);

}  // namespace cay::agent
