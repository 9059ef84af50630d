// Kit: the state that the built-in tools of one sandbox share.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "agent/tools/make_tools.h"
#include "agent/tools/permissions.h"
#include "agent/tools/tool.h"
#include "async/mutex.h"

namespace cay::agent {

namespace json = codec::json;

struct Kit {
  std::shared_ptr<providers::Backend> backend;
  ToolOptions options;
  FilePermissions permissions;
  std::string base = "/";                       // where a path without a leading "/" begins
  std::optional<Mutex> writing{};               // one change of a file at a time
  std::map<std::string, std::uint64_t> read{};  // background commands: how far they were read
};
using KitPtr = std::shared_ptr<Kit>;

using ToolBody = Task<ToolResult> (*)(KitPtr kit, json::object arguments, ToolContext context);
using ToolStop = Task<std::optional<ToolResult>> (*)(KitPtr kit, json::object arguments,
                                                     ToolContext context);
// `stop`: Tool::stop(); null: there is nothing to end.
std::shared_ptr<Tool> built_in(KitPtr kit, ToolSpec spec, Repeat repeat, ToolBody body,
                               ToolStop stop = nullptr);

// Whether an Error is of the infrastructure, and no answer for the model.
bool is_infrastructure(const Error& error);
ToolResult refused(std::string_view message);  // "Error: " and the message

// The tools of each file, in the order that the model sees.
void add_file_tools(Tools& tools, const KitPtr& kit);
void add_search_tools(Tools& tools, const KitPtr& kit);
void add_command_tools(Tools& tools, const KitPtr& kit);
void add_todo_tool(Tools& tools, const KitPtr& kit);
void add_web_tools(Tools& tools, const KitPtr& kit);

}  // namespace cay::agent
