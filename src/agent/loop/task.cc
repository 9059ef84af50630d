#include "agent/loop/task.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "agent/loop/loop.h"
#include "agent/loop/prompt.h"
#include "agent/loop/subagent_sandboxes.h"

namespace cay::agent {
namespace {

codec::json::object parameters_of(const std::vector<SubagentSpec>& subagents) {
  codec::json::array names;
  for (const auto& each : subagents) names.emplace_back(each.name);
  codec::json::object description{
      {"type", "string"},
      {"description",
       "The task in full: the subagent sees nothing else. Write what to do, what "
       "it needs, and what it shall return."}};
  codec::json::object type{
      {"type", "string"}, {"description", "The name of the subagent."}, {"enum", std::move(names)}};
  codec::json::object properties{{"description", std::move(description)},
                                 {"subagent_type", std::move(type)}};
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", codec::json::array{"description", "subagent_type"}}};
}

std::string description_of(const std::vector<SubagentSpec>& subagents) {
  std::string out =
      "Hands a task to a subagent, which works on its own and returns one answer. Use it for work "
      "of many steps whose details you do not need, and for pieces that can be done at the same "
      "time: several calls in one turn run in parallel. Each call starts with an empty "
      "conversation, so describe the task in full. Only you see the answer: pass on to the user "
      "what matters in it.\n\nSubagents:";
  for (const auto& each : subagents) out += "\n- " + each.name + ": " + each.description;
  return out;
}

std::string text_of(const codec::json::object& from, const char* name) {
  const auto* value = from.if_contains(name);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

bool is_named(const std::optional<std::vector<std::string>>& names, const std::string& name) {
  return !names || std::ranges::find(*names, name) != names->end();
}

class TaskTool : public Tool {
 public:
  explicit TaskTool(TaskParts parts) : parts_(std::move(parts)) {
    spec_.name = "task";
    spec_.description = description_of(parts_.subagents);
    spec_.parameters = parameters_of(parts_.subagents);
  }
  const ToolSpec& spec() const override { return spec_; }
  Repeat repeat() const override { return Repeat::kAttach; }
  Task<ToolResult> run(codec::json::object arguments, ToolContext context) override;

 private:
  const SubagentSpec* subagent(const std::string& name) const;
  Result<std::unique_ptr<Harness>> make_child(const SubagentSpec& spec,
                                              const ToolContext& context) const;
  Task<void> bind(Harness* child, const SubagentSpec* spec);
  Result<void> request_sandbox(Harness& child, const SubagentSpec& spec) const;
  Task<void> give_back(Harness* child);
  Task<void> prepare(Harness* child, const SubagentSpec* spec, std::string description);
  Task<ToolResult> ended(Harness* child, const SubagentSpec* spec, RunResult result);

  TaskParts parts_;
  ToolSpec spec_;
};

const SubagentSpec* TaskTool::subagent(const std::string& name) const {
  for (const auto& each : parts_.subagents) {
    if (each.name == name) return &each;
  }
  return nullptr;
}

// Opens the subagent's thread, whose id is that of the execution.
Result<std::unique_ptr<Harness>> TaskTool::make_child(const SubagentSpec& spec,
                                                      const ToolContext& context) const {
  const auto& parent = *parts_.parent;
  auto child = std::make_unique<Harness>();
  child->executor = parent.executor;
  child->log = parent.log;
  child->model = parent.model;
  child->limits = parent.limits;
  child->limits.time = Millis{0};  // the agent's own cancels it
  child->meter = parent.meter;
  child->is_subagent = true;
  child->rules = spec.rules.value_or(parent.rules);
  child->response_schema = spec.response_schema;
  if (spec.model) {
    CAY_TRY(child->model, make_model(parent.executor, *spec.model));
  }
  auto made = child->log->create(parent.recorder->thread(), context.execution_id);
  if (!made && made.error().code != Code::kAlreadyExists) return std::move(made).error();
  CAY_TRY(child->recorder, Recorder::open(child->log, context.execution_id));
  child->recorder->observe(&parts_.parent->recorder->observer());
  if (!child->state().created) {
    codec::json::object data;
    data["model"] = child->model->name();
    data["system_prompt"] = spec.system_prompt;
    data["provider"] = parent.state().provider;
    data["parent"] = parent.recorder->thread();
    data["parent_call"] = context.call_id;
    data["subagent"] = spec.name;
    CAY_CHECK(child->recorder->record("thread_created", std::move(data)));
  }
  return child;
}

Task<void> TaskTool::bind(Harness* child, const SubagentSpec* spec) {
  const auto bound = child->state().sandbox;
  std::string claim;
  if (spec->sandbox == SubagentSpec::Sandbox::kShared) {
    child->backend = parts_.parent->backend;
  } else if (bound) {
    auto request = parts_.sandbox;
    request.id = bound->id;
    CAY_CO_TRY(child->backend, co_await parts_.provider->open(std::move(request)));
  } else {
    CAY_CO_CHECK(request_sandbox(*child, *spec));
    auto requested = *child->state().requested;
    claim = requested.claim;
    auto opening = open_requested(parts_.provider.get(), parts_.sandbox, std::move(requested));
    CAY_CO_TRY(child->backend, co_await std::move(opening));
  }
  if (bound || !child->backend) co_return Result<void>{};
  codec::json::object data;
  data["provider"] = child->backend->provider();
  data["id"] = child->backend->id();
  data["claim"] = claim;
  co_return child->recorder->record("sandbox_bound", std::move(data));
}

// The log has the request before the sandbox is there. So a kill between the two loses none.
Result<void> TaskTool::request_sandbox(Harness& child, const SubagentSpec& spec) const {
  if (child.state().requested) return {};
  codec::json::object data;
  data["provider"] = parts_.parent->state().provider;
  data["claim"] = "thread:" + child.recorder->thread();
  if (spec.sandbox == SubagentSpec::Sandbox::kForked) data["source"] = parts_.parent->backend->id();
  return child.recorder->record("sandbox_requested", std::move(data));
}

Task<void> TaskTool::prepare(Harness* child, const SubagentSpec* spec, std::string description) {
  CAY_CO_CHECK(co_await bind(child, spec));
  const bool shared = spec->sandbox == SubagentSpec::Sandbox::kShared;
  Tools tools = parts_.parent->tools;
  if (!shared) {
    CAY_CO_TRY(tools, parts_.make_tools(child->backend));
  }
  for (const auto& tool : tools) {
    const auto& name = tool->spec().name;
    if (name != "task" && is_named(spec->tools, name)) child->tools.push_back(tool);
  }
  if (parts_.depth > 1 && is_named(spec->tools, "task")) {
    TaskParts nested = parts_;
    nested.parent = child;
    nested.depth -= 1;
    child->tools.push_back(make_task_tool(std::move(nested)));
  }
  CAY_CO_CHECK(co_await make_prompt(child, spec->system_prompt, spec->skills, {}));
  if (!child->state().conversation.empty()) co_return Result<void>{};
  codec::json::object data;
  data["message"] = to_json(Message::of(Role::kUser, std::move(description)));
  co_return child->recorder->record("user_message", std::move(data));
}

ToolResult answer_of(const Harness& child, const RunResult& result) {
  ToolResult out;
  std::string text = result.text;
  if (!result.structured.is_null()) text = codec::write(result.structured);
  if (result.state == RunState::kLimit) {
    text = "Error: the subagent met a limit of the run (" + result.reason + ").\n\n" + text;
  }
  if (text.empty()) text = "The subagent ended without a text.";
  out.blocks.push_back(Text{std::move(text)});
  const auto& state = child.state();
  out.artifact["thread"] = child.recorder->thread();
  out.artifact["state"] = std::string(to_string(result.state));
  out.artifact["usage"] = to_json(state.spent.usage);
  if (const auto cost = state.spent.known_cost()) out.artifact["cost"] = *cost;
  return out;
}

Task<ToolResult> TaskTool::ended(Harness* child, const SubagentSpec* spec, RunResult result) {
  const bool shared = spec->sandbox == SubagentSpec::Sandbox::kShared;
  switch (result.state) {
    case RunState::kDone:
    case RunState::kLimit: break;
    case RunState::kWaiting:
      for (const auto& call : result.pending) {
        parts_.parent->child_calls.push_back(
            {child->recorder->thread(), call.call_id, call.name, call.arguments});
      }
      co_return Error{Code::kNotReady, "approval_waiting", "a subagent waits for an approval", 0};
    case RunState::kSandboxLost:
      if (shared) co_return Error{Code::kLost, result.reason, result.message, 0};
      static_cast<void>(co_await give_back(child));  // in doubt it is only away
      co_return ToolResult::failure("Error: the sandbox of the subagent was lost: " +
                                    result.message);
    case RunState::kFailed:
    case RunState::kCancelled:
      // Its own model and tools were tried again already. The call stays open, and a resume goes on
      // in the sandbox that the subagent has.
      co_return Error{Code::kNotReady, result.reason,
                      "the subagent " + spec->name + ": " + result.message, 0};
  }
  auto out = answer_of(*child, result);
  if (!shared && child->backend) {
    auto removed = co_await give_back(child);
    if (!removed) out.artifact["sandbox_left"] = child->backend->id();
  }
  co_return out;
}

// Removes the subagent's own sandbox.
Task<void> TaskTool::give_back(Harness* child) {
  if (!child->backend) co_return Result<void>{};
  auto id = child->backend->id();
  co_return co_await parts_.provider->remove(std::move(id));
}

Task<ToolResult> TaskTool::run(codec::json::object arguments, ToolContext context) {
  auto description = text_of(arguments, "description");
  const auto name = text_of(arguments, "subagent_type");
  const auto* spec = subagent(name);
  if (spec == nullptr) {
    std::string names;
    for (const auto& each : parts_.subagents) {
      names += (names.empty() ? "`" : ", `") + each.name + "`";
    }
    co_return ToolResult::failure("We cannot invoke subagent " + name +
                                  " because it does not exist, the only allowed types are " +
                                  names);
  }
  CAY_CO_TRY(auto child, make_child(*spec, context));
  if (child->state().run.state == "done") {
    auto former = result_of(*child);
    auto work = ended(child.get(), spec, std::move(former));
    co_return co_await std::move(work);
  }
  auto preparing = prepare(child.get(), spec, std::move(description));
  CAY_CO_CHECK(co_await std::move(preparing));
  const auto& run = child->state().run;
  const bool same = run.active || run.state == "waiting";
  auto id = same ? run.id : next_run(child->state());
  auto work = conduct(child.get(), std::move(id));
  CAY_CO_TRY(auto result, co_await std::move(work));
  auto ending = ended(child.get(), spec, std::move(result));
  co_return co_await std::move(ending);
}

}  // namespace

SubagentSpec general_purpose() {
  SubagentSpec out;
  out.name = "general-purpose";
  out.description =
      "Researches questions, searches files and does tasks of many steps. It has the same tools "
      "as you. Use it to keep a long search out of your conversation.";
  out.system_prompt =
      "You do one task for another agent, and work on your own until it is done. Nobody answers "
      "questions. Your last message is your answer: it holds all that was requested, in short.";
  return out;
}

std::shared_ptr<Tool> make_task_tool(TaskParts parts) {
  if (parts.subagents.empty()) return nullptr;
  return std::make_shared<TaskTool>(std::move(parts));
}

}  // namespace cay::agent
