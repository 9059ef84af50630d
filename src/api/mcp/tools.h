// The table of tools. A tool is one entry: its words, its parameters, the right that it needs, and
// the function that calls the core.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "api/common/answer.h"
#include "api/common/service_names.h"
#include "api/mcp/arguments.h"
#include "api/mcp/event_feed.h"
#include "core/cay.h"
#include "model/principal.h"

namespace cay::api::mcp {

// One call of a tool. Cancelling its coroutine ends it.
struct Call {
  core::Cay* cay = nullptr;
  ServiceNames names{};
  ExchangePtr exchange;
  Arguments arguments;
  json::value progress_token{};       // null: the client wants no progress
  std::shared_ptr<EventFeed> feed{};  // null: nobody wants progress

  const Principal& who() const { return exchange->principal(); }
  std::string sandbox() const { return arguments.text("sandbox"); }
  bool wants_progress() const { return feed != nullptr && feed->wants_progress(); }
  void report(std::string_view text) const {
    if (feed != nullptr) feed->report(text);
  }
};

// Returns a result of results.h. An Error is Cay's own failure, not that of the caller's program.
using ToolFunction = Task<json::object> (*)(Call call);

struct Tool {
  std::string_view name, title, description;
  std::vector<Param> params;
  Right right = Right::kManage;
  bool read_only = false;    // it changes nothing
  bool destructive = false;  // it may remove or overwrite what was there
  bool takes_long = false;   // its response is a stream, so that proxies wait for it
  ToolFunction function = nullptr;
};

const std::vector<Tool>& tools();
const Tool* find_tool(std::string_view name);
json::object to_json(const Tool& tool);

// sandbox_tools.cc
Task<json::object> create_sandbox(Call call);
Task<json::object> list_sandboxes(Call call);
Task<json::object> delete_sandbox(Call call);
Task<json::object> snapshot_sandbox(Call call);
Task<json::object> fork_sandbox(Call call);
Task<json::object> make_url(Call call);

// run_tool.cc
Task<json::object> run_command(Call call);

// shell_tool.cc
Task<json::object> run_in_shell(Call call);

// code_tool.cc
Task<json::object> run_code(Call call);

// file_tools.cc
Task<json::object> read_file(Call call);
Task<json::object> write_file(Call call);
Task<json::object> edit_file(Call call);
Task<json::object> list_directory(Call call);
Task<json::object> find_files(Call call);
Task<json::object> search_files(Call call);

}  // namespace cay::api::mcp
