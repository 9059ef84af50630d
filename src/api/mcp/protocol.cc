#include "api/mcp/protocol.h"

#include <algorithm>
#include <array>
#include <optional>

#include "api/mcp/tools.h"

namespace cay::api::mcp {
namespace {

constexpr std::string_view kNewestHandshake = "2025-11-25";
constexpr std::array<std::string_view, 4> kHandshakeVersions{"2024-11-05", "2025-03-26",
                                                             "2025-06-18", kNewestHandshake};
constexpr std::array<std::string_view, 1> kStatelessVersions{"2026-07-28"};

constexpr int kHeaderMismatch = -32020;  // MCP 2026-07-28

constexpr const char* kVersionInMeta = "io.modelcontextprotocol/protocolVersion";
constexpr const char* kServerInMeta = "io.modelcontextprotocol/serverInfo";

constexpr const char* kInstructions =
    "Cay gives you isolated Linux computers (sandboxes). Create one with create_sandbox, and name "
    "it in the other tools. Programs run as root of the sandbox, and reach nothing of this "
    "machine. Files stay until delete_sandbox. A result with isError and an exit code is the "
    "failure of your command. One with member error is a failure of Cay, and has a reason and a "
    "remedy.";

template <std::size_t kCount>
bool is_among(const std::array<std::string_view, kCount>& all, std::string_view version) {
  return std::ranges::count(all, version) > 0;
}

std::optional<std::string> text_in(const json::object& in, std::string_view name) {
  const json::value* found = in.if_contains(name);
  if (found == nullptr || !found->is_string()) return std::nullopt;
  return std::string(found->get_string().data(), found->get_string().size());
}

const json::object* meta_of(const Message* message) {
  if (message == nullptr) return nullptr;
  const json::value* meta = message->params.if_contains("_meta");
  return meta == nullptr ? nullptr : meta->if_object();
}

RpcError unknown_version(const std::string& version) {
  json::array known;
  for (const auto one : kHandshakeVersions) known.emplace_back(one);
  for (const auto one : kStatelessVersions) known.emplace_back(one);
  return {
      .code = kUnsupportedVersion,
      .message = "Unsupported protocol version",
      .data = json::object{{"supported", std::move(known)}, {"requested", codec::text(version)}}};
}

RpcError mismatch(const std::string& header) {
  return {.code = kHeaderMismatch, .message = "the header " + header + " contradicts the message"};
}

// A proxy may have chosen by these headers, so they must be right where they are.
std::optional<RpcError> contradiction(const http::Headers& headers, const Message& message,
                                      const std::string& version) {
  const auto named = headers.get("MCP-Protocol-Version");
  if (named && *named != version) return mismatch("MCP-Protocol-Version");
  const auto method = headers.get("Mcp-Method");
  if (method && *method != message.method) return mismatch("Mcp-Method");
  const auto name = headers.get("Mcp-Name");
  // A name that is no token comes encoded. No tool of this server has one.
  if (name && message.method == "tools/call" &&
      *name != text_in(message.params, "name").value_or(""))
    return mismatch("Mcp-Name");
  return std::nullopt;
}

json::object server_info(const std::string& version) {
  return {{"name", "cay"}, {"title", "Cay"}, {"version", version}};
}

json::object capabilities() { return {{"tools", json::object{{"listChanged", false}}}}; }

}  // namespace

std::variant<Dialect, RpcError> dialect_of(const http::Headers& headers, const Message* message) {
  std::string version(headers.get("MCP-Protocol-Version").value_or(kUnnamedVersion));
  if (const json::object* meta = meta_of(message)) {
    if (const auto stated = text_in(*meta, kVersionInMeta)) {
      if (auto wrong = contradiction(headers, *message, *stated)) return *std::move(wrong);
      version = *stated;
    }
  }
  const bool stateless = is_among(kStatelessVersions, version);
  if (!stateless && !is_among(kHandshakeVersions, version)) return unknown_version(version);
  return Dialect{version, stateless, version == kUnnamedVersion};
}

json::object initialized(const Message& message, const std::string& server_version) {
  const std::string wanted = text_in(message.params, "protocolVersion").value_or("");
  return {{"protocolVersion",
           is_among(kHandshakeVersions, wanted) ? std::string_view(wanted) : kNewestHandshake},
          {"capabilities", capabilities()},
          {"serverInfo", server_info(server_version)},
          {"instructions", kInstructions}};
}

json::object discovered(const std::string& server_version) {
  json::array versions;
  for (const auto one : kStatelessVersions) versions.emplace_back(one);
  return {{"supportedVersions", std::move(versions)},
          {"capabilities", capabilities()},
          {"instructions", kInstructions},
          {"ttlMs", 0},
          {"cacheScope", "private"},
          {"_meta", json::object{{kServerInMeta, server_info(server_version)}}}};
}

json::object listed_tools(const Principal& who) {
  json::array all;
  for (const Tool& tool : tools()) {
    if (allows(who.scope, tool.right)) all.emplace_back(to_json(tool));
  }
  return {{"tools", std::move(all)}};
}

json::object in_dialect(json::object result, const Dialect& dialect) {
  if (!dialect.stateless) return result;
  result["resultType"] = "complete";
  if (result.contains("tools")) {
    result["ttlMs"] = 0;
    result["cacheScope"] = "private";
  }
  return result;
}

int status_of(int code, const Dialect& dialect) {
  if (code == kParseError || code == kUnsupportedVersion || code == kHeaderMismatch) return 400;
  if (!dialect.stateless) return 200;
  if (code == kMethodNotFound) return 404;
  return code == kInvalidRequest || code == kInvalidParams ? 400 : 200;
}

json::value progress_token_of(const Message& message) {
  const json::object* meta = meta_of(&message);
  const json::value* token = meta == nullptr ? nullptr : meta->if_contains("progressToken");
  return token != nullptr && is_id(*token) ? *token : json::value();
}

}  // namespace cay::api::mcp
