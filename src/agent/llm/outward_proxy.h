// The HTTP proxy of the user's environment, for what the agent reaches outside the sandbox: models,
// web_fetch and MCP servers.
#pragma once
#include <string_view>

#include "agent/llm/endpoint.h"
#include "http/client.h"

namespace cay::agent {

// For https:// HTTPS_PROXY, for http:// HTTP_PROXY, else ALL_PROXY, each also in lower case. Hosts
// of NO_PROXY and loopback are reached directly, also where the proxy is one that is not spoken
// (SOCKS). Without a proxy its host is empty. `unusable` names the variable, and not its value.
http::ClientProxy outward_proxy(std::string_view url, const Environment& environment);

}  // namespace cay::agent
