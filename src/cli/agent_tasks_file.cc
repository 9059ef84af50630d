#include "cli/agent_tasks_file.h"

#include <algorithm>
#include <set>

#include "codec/json.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

Error refused(std::size_t line, const std::string& why) {
  return {Code::kInvalidArgument, "invalid_task", "line " + std::to_string(line) + ": " + why, 0};
}

bool names_a_directory(std::string_view id) {
  constexpr std::size_t kLongest = 128;
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
  return !id.empty() && id.size() <= kLongest && id.front() != '.' && id.front() != '-' &&
         id.find_first_not_of(kAllowed) == std::string_view::npos;
}

// Reads the members of one task. `why` is set where one has a wrong type.
class Reader {
 public:
  explicit Reader(const json::object& from) : from_(from) {}

  std::string text(const char* name) {
    const json::value* found = from_.if_contains(name);
    if (found == nullptr || found->is_null()) return {};
    if (found->is_string()) return std::string(found->get_string());
    note(name, "a string");
    return {};
  }
  double number(const char* name) {
    const json::value* found = from_.if_contains(name);
    if (found == nullptr || found->is_null()) return 0;
    if (found->is_number() && found->to_number<double>() > 0) return found->to_number<double>();
    note(name, "a number above 0");
    return 0;
  }
  std::vector<std::string> texts(const char* name) {
    std::vector<std::string> out;
    const json::value* found = from_.if_contains(name);
    if (found == nullptr) return out;
    const json::array* items = found->if_array();
    if (items == nullptr) note(name, "a list of strings");
    for (std::size_t i = 0; items != nullptr && i < items->size(); ++i) {
      if (!items->at(i).is_string()) {
        note(name, "a list of strings");
        break;
      }
      out.emplace_back(items->at(i).get_string());
    }
    return out;
  }
  std::vector<std::pair<std::string, std::string>> pairs(const char* name) {
    std::vector<std::pair<std::string, std::string>> out;
    const json::value* found = from_.if_contains(name);
    if (found == nullptr) return out;
    if (!found->is_object()) note(name, "an object of path and content");
    for (const auto& [key, value] : found->is_object() ? found->get_object() : json::object()) {
      if (!value.is_string()) note(name, "an object of path and content");
      if (value.is_string()) out.emplace_back(std::string(key), std::string(value.get_string()));
    }
    return out;
  }
  const std::string& why() const { return why_; }

 private:
  void note(const char* name, const char* wanted) {
    if (why_.empty()) why_ = std::string("`") + name + "` must be " + wanted;
  }
  const json::object& from_;
  std::string why_;
};

Result<AgentTask> task_of(std::string_view text, std::size_t line) {
  const auto parsed = codec::parse_object(text);
  if (!parsed) return refused(line, parsed.error().message);
  constexpr std::string_view kKnown[] = {"id",     "prompt", "system",  "model",     "snapshot",
                                         "policy", "files",  "collect", "max_steps", "timeout"};
  for (const auto& [name, value] : *parsed) {
    if (std::ranges::find(kKnown, std::string_view(name)) == std::end(kKnown))
      return refused(line, "`" + std::string(name) +
                               "` is unknown. A task has id, prompt, system, model, snapshot, "
                               "policy, files, collect, max_steps and timeout");
  }
  Reader read(*parsed);
  AgentTask task{.id = read.text("id"),
                 .prompt = read.text("prompt"),
                 .system = read.text("system"),
                 .model = read.text("model"),
                 .snapshot = read.text("snapshot"),
                 .policy = read.text("policy"),
                 .files = read.pairs("files"),
                 .collect = read.texts("collect"),
                 .max_steps = static_cast<std::uint64_t>(read.number("max_steps")),
                 .timeout_s = read.number("timeout")};
  if (!read.why().empty()) return refused(line, read.why());
  if (task.id.empty()) task.id = "task-" + std::to_string(line);
  if (!names_a_directory(task.id))
    return refused(line, "`id` names a directory: use letters, digits, '.', '_' and '-'");
  if (task.prompt.empty()) return refused(line, "`prompt` is missing");
  for (const auto& [path, content] : task.files) {
    if (!path.starts_with('/')) return refused(line, "`files`: " + path + " is not absolute");
  }
  for (const std::string& path : task.collect) {
    if (!path.starts_with('/')) return refused(line, "`collect`: " + path + " is not absolute");
  }
  return task;
}

}  // namespace

Result<std::vector<AgentTask>> parse_tasks(std::string_view text) {
  std::vector<AgentTask> out;
  std::set<std::string> ids;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const auto end = text.find('\n');
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (one.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    CAY_TRY(auto task, task_of(one, line));
    if (!ids.insert(task.id).second) return refused(line, "the id " + task.id + " is there twice");
    out.push_back(std::move(task));
  }
  if (out.empty()) return Error{Code::kInvalidArgument, "invalid_task", "the file has no task", 0};
  return out;
}

}  // namespace cay::cli
