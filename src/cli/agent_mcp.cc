#include "cli/agent_mcp.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "agent/tools/mcp.h"
#include "codec/lenient.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

Result<json::object> servers_in(const std::string& path) {
  std::ifstream file(path);
  if (!file) return Error{Code::kInvalidArgument, "local_file", path + ": cannot be read", 0};
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  auto parsed = codec::parse_object(text);
  if (!parsed) return std::move(parsed).error().while_doing(path);
  return parsed;
}

// [{"name": N, "value": V}] as {N: V}.
json::object pairs_of(const json::object& from, const char* name) {
  json::object out;
  const json::value* items = from.if_contains(name);
  if (items == nullptr || !items->is_array()) return out;
  for (const json::value& item : items->get_array()) {
    if (!item.is_object()) continue;
    out[codec::string_at(item.get_object(), "name")] = codec::string_at(item.get_object(), "value");
  }
  return out;
}

}  // namespace

Task<agent::Tools> mcp_tools_of(asio::any_io_executor loop, std::vector<std::string> files) {
  agent::Tools out;
  for (const std::string& path : files) {
    CAY_CO_TRY(auto servers, servers_in(path));
    auto connecting = agent::mcp_tools(loop, std::move(servers));
    auto tools = co_await std::move(connecting);
    if (!tools) co_return std::move(tools).error();
    out.insert(out.end(), tools->begin(), tools->end());
  }
  co_return out;
}

json::object editor_servers(const json::array& servers) {
  json::object out;
  for (const json::value& item : servers) {
    if (!item.is_object()) continue;
    const json::object& server = item.get_object();
    json::object one;
    if (server.contains("command")) {
      one["command"] = server.at("command");
      if (const json::value* args = server.if_contains("args")) one["args"] = *args;
      one["env"] = pairs_of(server, "env");
    } else {
      one["url"] = codec::string_at(server, "url");
      one["headers"] = pairs_of(server, "headers");
    }
    out[codec::string_at(server, "name")] = std::move(one);
  }
  return out;
}

}  // namespace cay::cli
