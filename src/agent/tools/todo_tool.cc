// write_todos: the model's own list of what is to be done.
#include <utility>

#include "agent/tools/arguments.h"
#include "agent/tools/kit.h"

namespace cay::agent {
namespace {

Task<ToolResult> run_todos(KitPtr, json::object from, ToolContext) {
  const auto* list = from.if_contains("todos");
  if (list == nullptr || !list->is_array()) co_return refused("'todos' must be a list");
  for (const auto& item : list->get_array()) {
    const auto* object = item.if_object();
    const auto* content = object == nullptr ? nullptr : object->if_contains("content");
    const auto* status = object == nullptr ? nullptr : object->if_contains("status");
    const bool good = content != nullptr && content->is_string() && status != nullptr &&
                      (*status == "pending" || *status == "in_progress" || *status == "completed");
    if (!good) {
      co_return refused(
          "each entry of 'todos' needs content, and status pending, in_progress or completed");
    }
  }
  auto out = ToolResult::of("Updated todo list to " + codec::write(*list));
  out.artifact["todos"] = *list;
  co_return out;
}

}  // namespace

void add_todo_tool(Tools& tools, const KitPtr& kit) {
  json::object entry{
      {"type", "object"},
      {"properties",
       json::object{
           {"content", json::object{{"type", "string"}}},
           {"status", json::object{{"type", "string"},
                                   {"enum", json::array{"pending", "in_progress", "completed"}}}}}},
      {"required", json::array{"content", "status"}}};
  json::object todos{{"type", "array"},
                     {"items", std::move(entry)},
                     {"description", "The whole list: it replaces the former one"}};
  tools.push_back(built_in(
      kit,
      {"write_todos",
       "Keeps a list of steps for work with three or more of them. Give the whole list each time. "
       "Mark a step in_progress before you begin it, and completed as soon as it is done.",
       Schema().member("todos", std::move(todos), true).take()},
      Repeat::kYes, run_todos));
}

}  // namespace cay::agent
