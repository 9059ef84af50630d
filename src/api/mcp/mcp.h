// The MCP server, /mcp: tools over the core's verbs for clients of the Model Context Protocol.
// docs/guide/mcp.md describes the tools.
#pragma once
#include <string>

#include "api/common/service_names.h"
#include "core/cay.h"
#include "http/router.h"

namespace cay::api {

struct McpConfig {
  std::string version = "0.1.0";
  ServiceNames names;  // of the addresses in links
};

// References outlive the router.
void add_mcp_routes(http::Router& router, core::Cay& cay, McpConfig config);

}  // namespace cay::api
