#include "agent/tools/mcp.h"

#include <algorithm>
#include <set>
#include <utility>

#include "agent/tools/mcp_link.h"
#include "async/deadline.h"
#include "base/ascii.h"
#include "codec/base64.h"
#include "codec/utf8.h"

namespace cay::agent {
namespace {

namespace json = codec::json;

constexpr Millis kConnectTime{60'000};
constexpr Millis kCallTime{600'000};
constexpr int kMostPages = 100;
constexpr std::size_t kMostName = 64;

std::string string_of(const json::object& from, std::string_view name) {
  const auto* found = from.if_contains(name);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

bool flag_of(const json::object& from, std::string_view name) {
  const auto* found = from.if_contains(name);
  return found != nullptr && found->is_bool() && found->get_bool();
}

// A name that every vendor's API takes.
std::string tool_name(const std::string& server, const std::string& tool) {
  std::string out = server + "__" + tool;
  for (char& c : out) {
    if (!is_letter(c) && !is_digit(c) && c != '_' && c != '-') c = '_';
  }
  out.resize(std::min(out.size(), kMostName));
  return out;
}

// One part of a tool's content.
Block block_of(const json::object& part) {
  const auto type = string_of(part, "type");
  if (type == "text") return Text{string_of(part, "text")};
  if (type == "image" || type == "audio") {
    auto bytes = codec::from_base64(string_of(part, "data"));
    if (bytes && type == "image") return Media{string_of(part, "mimeType"), *std::move(bytes)};
    return Text{"[" + type + " of type " + string_of(part, "mimeType") + "]"};
  }
  if (type == "resource_link") return Text{"[" + string_of(part, "uri") + "]"};
  const auto* resource = part.if_contains("resource");
  if (resource != nullptr && resource->is_object()) {
    const auto& inner = resource->get_object();
    const auto text = string_of(inner, "text");
    return Text{text.empty() ? "[" + string_of(inner, "uri") + "]" : text};
  }
  return Text{codec::write(part)};
}

ToolResult result_of(const json::object& answer) {
  ToolResult out;
  const auto* content = answer.if_contains("content");
  if (content != nullptr && content->is_array()) {
    for (const auto& part : content->get_array()) {
      if (part.is_object()) out.blocks.push_back(block_of(part.get_object()));
    }
  }
  const auto* structured = answer.if_contains("structuredContent");
  if (out.blocks.empty() && structured != nullptr) {
    out.blocks.emplace_back(Text{codec::write(*structured)});
  }
  if (out.blocks.empty()) out.blocks.emplace_back(Text{"The tool returned nothing."});
  out.failed = flag_of(answer, "isError");
  return out;
}

class McpTool final : public Tool {
 public:
  McpTool(std::shared_ptr<McpLink> link, std::string name, ToolSpec spec, Repeat repeat)
      : link_(std::move(link)), name_(std::move(name)), spec_(std::move(spec)), repeat_(repeat) {}

  const ToolSpec& spec() const override { return spec_; }
  Repeat repeat() const override { return repeat_; }

  // A server that is gone does not end a run: the model reads why.
  Task<ToolResult> run(json::object arguments, ToolContext) override {
    json::object params{{"name", name_}, {"arguments", std::move(arguments)}};
    auto call = link_->request("tools/call", std::move(params));
    auto answer = co_await with_deadline(std::move(call), kCallTime, "the tool");
    if (!answer) co_return ToolResult::failure("Error: " + answer.error().message);
    co_return result_of(*answer);
  }

 private:
  std::shared_ptr<McpLink> link_;
  std::string name_;
  ToolSpec spec_;
  Repeat repeat_;
};

std::shared_ptr<Tool> tool_of(const std::shared_ptr<McpLink>& link, const std::string& server,
                              const json::object& listed) {
  ToolSpec spec;
  const auto name = string_of(listed, "name");
  spec.name = tool_name(server, name);
  spec.description = string_of(listed, "description");
  if (spec.description.empty()) spec.description = string_of(listed, "title");
  const auto* schema = listed.if_contains("inputSchema");
  spec.parameters = json::object{{"type", "object"}, {"properties", json::object{}}};
  if (schema != nullptr && schema->is_object()) spec.parameters = schema->get_object();
  const auto* hints = listed.if_contains("annotations");
  const bool repeats = hints != nullptr && hints->is_object() &&
                       (flag_of(hints->get_object(), "readOnlyHint") ||
                        flag_of(hints->get_object(), "idempotentHint"));
  return std::make_shared<McpTool>(link, name, std::move(spec),
                                   repeats ? Repeat::kYes : Repeat::kNo);
}

Result<std::shared_ptr<McpLink>> link_of(const asio::any_io_executor& executor,
                                         const json::object& config) {
  if (!string_of(config, "command").empty()) return mcp_child(executor, config);
  if (!string_of(config, "url").empty() && string_of(config, "type") != "sse") {
    return mcp_over_http(executor, config);
  }
  return Error{Code::kInvalidArgument, "bad_mcp_config",
               "a server needs 'command', or 'url' of streamable HTTP", 0};
}

Task<Tools> tools_of(std::shared_ptr<McpLink> link, std::string server) {
  json::object hello{{"protocolVersion", "2025-06-18"},
                     {"capabilities", json::object{}},
                     {"clientInfo", json::object{{"name", "cay-agent"}, {"version", "1"}}}};
  auto welcome = co_await link->request("initialize", std::move(hello));
  if (!welcome) co_return std::move(welcome).error();
  CAY_CO_CHECK(co_await link->notify("notifications/initialized"));
  Tools out;
  std::string cursor;
  for (int page = 0; page < kMostPages; ++page) {
    json::object params;
    if (!cursor.empty()) params["cursor"] = cursor;
    auto listed = co_await link->request("tools/list", std::move(params));
    if (!listed) co_return std::move(listed).error();
    const auto* tools = listed->if_contains("tools");
    if (tools != nullptr && tools->is_array()) {
      for (const auto& tool : tools->get_array()) {
        if (tool.is_object()) out.push_back(tool_of(link, server, tool.get_object()));
      }
    }
    cursor = string_of(*listed, "nextCursor");
    if (cursor.empty()) break;
  }
  co_return out;
}

Error at_server(Error error, const std::string& name) {
  return std::move(error).while_doing("the MCP server '" + name + "'");
}

}  // namespace

Task<Tools> mcp_tools(asio::any_io_executor executor, json::object servers) {
  if (const auto* inner = servers.if_contains("mcpServers"); inner != nullptr) {
    if (!inner->is_object()) {
      co_return Error{Code::kInvalidArgument, "bad_mcp_config", "'mcpServers' must be an object",
                      0};
    }
    const json::object unwrapped = inner->get_object();
    servers = unwrapped;
  }
  Tools out;
  std::set<std::string> names;
  for (const auto& [key, value] : servers) {
    const std::string name(key);
    if (!value.is_object()) {
      co_return Error{Code::kInvalidArgument, "bad_mcp_config",
                      "the server '" + name + "' must be an object", 0};
    }
    auto link = link_of(executor, value.get_object());
    if (!link) co_return at_server(std::move(link).error(), name);
    auto tools = co_await with_deadline(tools_of(*link, name), kConnectTime, "its start");
    if (!tools) co_return at_server(std::move(tools).error(), name);
    for (auto& tool : *tools) {
      if (names.insert(tool->spec().name).second) out.push_back(std::move(tool));
    }
  }
  co_return out;
}

}  // namespace cay::agent
