// The agent of embedding programs, over agent/loop/agent.h and a thread of its own.
#include "cay/agent.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cmath>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "agent/loop/agent.h"
#include "agent/threads/log.h"

namespace cay::sdk {
namespace {

namespace agent = cay::agent;
namespace json = codec::json;

[[noreturn]] void raise(const Error& error) {
  // The two enums are in step (client/errors.cc).
  const auto code = static_cast<ErrorCode>(static_cast<int>(error.code) - 1);
  throw ApiError(code, error.reason, error.message);
}

[[noreturn]] void refuse(const std::string& message) {
  raise({Code::kInvalidArgument, "bad_agent_options", message, 0});
}

json::object object_of(const std::string& text, const char* what) {
  if (text.empty()) return {};
  auto parsed = codec::parse_object(text);
  if (!parsed) refuse(std::string(what) + " is no JSON object: " + parsed.error().message);
  return *std::move(parsed);
}

// A tool of the embedding program.
class ProgramTool : public agent::Tool {
 public:
  explicit ProgramTool(const AgentTool& tool) : run_(tool.run), repeatable_(tool.repeatable) {
    spec_.name = tool.name;
    spec_.description = tool.description;
    spec_.parameters = object_of(tool.parameters, "a tool's parameters");
  }
  const agent::ToolSpec& spec() const override { return spec_; }
  agent::Repeat repeat() const override {
    return repeatable_ ? agent::Repeat::kYes : agent::Repeat::kNo;
  }
  Task<agent::ToolResult> run(json::object arguments, agent::ToolContext /*context*/) override {
    try {
      co_return agent::ToolResult::of(run_(codec::write(arguments)));
    } catch (const std::exception& thrown) {
      co_return agent::ToolResult::failure(std::string("Error: ") + thrown.what());
    }
  }

 private:
  agent::ToolSpec spec_;
  std::function<std::string(const std::string&)> run_;
  bool repeatable_;
};

agent::Verdict verdict_of(const std::string& word) {
  if (word == "allow") return agent::Verdict::kAllow;
  if (word == "ask") return agent::Verdict::kAsk;
  if (word == "deny") return agent::Verdict::kDeny;
  refuse("a rule's verdict is allow, ask or deny, not '" + word + "'");
}

agent::SubagentSpec::Sandbox sandbox_of(const std::string& word) {
  if (word == "shared") return agent::SubagentSpec::Sandbox::kShared;
  if (word == "own") return agent::SubagentSpec::Sandbox::kOwn;
  if (word == "forked") return agent::SubagentSpec::Sandbox::kForked;
  refuse("a subagent's sandbox is shared, own or forked, not '" + word + "'");
}

agent::Decision::Type type_of(const std::string& word) {
  if (word == "approve") return agent::Decision::Type::kApprove;
  if (word == "edit") return agent::Decision::Type::kEdit;
  if (word == "reject") return agent::Decision::Type::kReject;
  if (word == "respond") return agent::Decision::Type::kRespond;
  refuse("a decision is approve, edit, reject or respond, not '" + word + "'");
}

std::optional<agent::Prices> prices_of(const std::optional<AgentPrices>& from) {
  if (!from) return std::nullopt;
  return agent::Prices{.input = from->input,
                       .output = from->output,
                       .cache_read = from->cache_read,
                       .cache_write = from->cache_write};
}

agent::SubagentSpec subagent_of(const AgentSubagent& from, const agent::ModelSettings& model) {
  agent::SubagentSpec out;
  out.name = from.name;
  out.description = from.description;
  out.system_prompt = from.system_prompt;
  if (!from.model.empty()) {
    out.model = model;
    out.model->model = from.model;
    out.model->profile.prices = prices_of(from.prices);
  }
  if (!from.tools.empty()) out.tools = from.tools;
  out.response_schema = object_of(from.response_schema, "a subagent's response_schema");
  out.sandbox = sandbox_of(from.sandbox);
  return out;
}

agent::AgentOptions options_of(const AgentOptions& from) {
  agent::AgentOptions out;
  out.model.model = from.model;
  out.model.base_url = from.base_url;
  out.model.api_key = from.api_key;
  out.model.temperature = from.temperature;
  out.model.max_retries = from.max_retries;
  out.model.profile.prices = prices_of(from.prices);
  out.system_prompt = from.system_prompt;
  out.provider = from.backend;
  out.sandbox.id = from.sandbox;
  out.sandbox.snapshot = from.snapshot;
  out.sandbox.policy = from.policy;
  out.built_in.permissions = agent::rules_on(from.read_only_paths, from.hidden_paths);
  out.checkpoint = from.checkpoint;
  for (const auto& tool : from.tools) out.tools.push_back(std::make_shared<ProgramTool>(tool));
  for (const auto& each : from.subagents) out.subagents.push_back(subagent_of(each, out.model));
  out.subagent_depth = from.subagent_depth;
  for (const auto& rule : from.rules) {
    out.rules.push_back({rule.tool, rule.pattern, verdict_of(rule.verdict)});
  }
  out.limits.steps = from.limits.steps;
  out.limits.tokens = from.limits.tokens;
  out.limits.cost = from.limits.cost;
  out.limits.time = Millis{std::llround(from.limits.time_s * 1000)};
  if (auto good = agent::check_search_url(from.search_url); !good) raise(good.error());
  out.built_in.web.hosts = from.web_hosts;
  out.built_in.web.search_url = from.search_url;
  out.built_in.web.search_key = from.search_key;
  out.todos = from.todos;
  out.skills = from.skills;
  out.memory = from.memory;
  out.response_schema = object_of(from.response_schema, "response_schema");
  out.state_path = from.state_path;
  out.thread = from.thread;
  return out;
}

class CallbackObserver : public agent::Observer {
 public:
  CallbackObserver(const AgentCallbacks& callbacks, std::string thread)
      : callbacks_(callbacks), thread_(std::move(thread)) {}
  void on_event(const std::string& /*thread*/, const agent::ThreadEvent& event) override {
    if (callbacks_.on_event) callbacks_.on_event(agent::to_line(event));
  }
  void on_delta(const std::string& thread, const agent::Delta& delta) override {
    const bool text = delta.kind == agent::Delta::Kind::kText;
    if (text && thread == thread_ && callbacks_.on_text) callbacks_.on_text(delta.text);
  }
  void on_tool_output(const std::string& /*thread*/, const std::string& call_id,
                      std::string_view bytes) override {
    if (callbacks_.on_output) callbacks_.on_output(call_id, bytes);
  }

 private:
  const AgentCallbacks& callbacks_;
  std::string thread_;
};

AgentAnswer answer_of(const agent::RunResult& result) {
  AgentAnswer out;
  out.state = std::string(agent::to_string(result.state));
  out.reason = result.reason;
  out.message = result.message;
  out.text = result.text;
  if (!result.structured.is_null()) out.structured = codec::write(result.structured);
  out.input_tokens = result.usage.input;
  out.output_tokens = result.usage.output;
  out.cost = result.cost;
  out.steps = result.steps;
  out.thread = result.thread;
  for (const auto& call : result.pending) {
    out.pending.push_back({call.call_id, call.name, call.arguments});
  }
  return out;
}

}  // namespace

// An event loop with a thread of its own, and the agent that lives on it.
struct AgentState {
  AgentState() : work_(context_.get_executor()), thread_([this] { context_.run(); }) {}
  ~AgentState() {
    wait_void([this] { agent_.reset(); });
    work_.reset();
    context_.stop();
    thread_.join();
  }

  void open(const AgentOptions& options) {
    state_path_ = options.state_path;
    agent_ = wait(agent::Agent::open(context_.get_executor(), options_of(options)));
    id_ = agent_->thread();
  }

  // Runs it on the loop and waits for it. Throws its Error.
  template <class T>
  T wait(Task<T> task) {
    std::promise<Result<T>> promise;
    auto done = promise.get_future();
    asio::co_spawn(context_, std::move(task),
                   [&promise](std::exception_ptr thrown, Result<T> value) {
                     if (thrown) {
                       promise.set_exception(thrown);
                     } else {
                       promise.set_value(std::move(value));
                     }
                   });
    auto got = done.get();
    if (!got) raise(got.error());
    return *std::move(got);
  }
  template <class Fn>
  void wait_void(Fn work) {
    std::promise<void> promise;
    asio::post(context_, [&] {
      work();
      promise.set_value();
    });
    promise.get_future().get();
  }

  asio::io_context context_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_;
  std::unique_ptr<agent::Agent> agent_;
  std::string id_;
  std::string state_path_;
  std::thread thread_;
};

AgentAnswer Agent::invoke(const std::string& input, const AgentCallbacks& callbacks) const {
  CallbackObserver observer(callbacks, state_->id_);
  return answer_of(state_->wait(state_->agent_->run(input, &observer)));
}

AgentAnswer Agent::approve(const std::vector<AgentDecision>& decisions,
                           const AgentCallbacks& callbacks) const {
  std::vector<agent::Decision> given;
  for (const auto& each : decisions) {
    given.push_back({each.call_id, type_of(each.type), "", each.arguments, each.message});
  }
  CallbackObserver observer(callbacks, state_->id_);
  return answer_of(state_->wait(state_->agent_->approve(std::move(given), &observer)));
}

AgentAnswer Agent::resume(const AgentCallbacks& callbacks) const {
  CallbackObserver observer(callbacks, state_->id_);
  return answer_of(state_->wait(state_->agent_->resume(&observer)));
}

void Agent::rewind(std::uint64_t to_seq) const { state_->wait(state_->agent_->rewind(to_seq)); }

std::string Agent::export_jsonl() const {
  auto log = agent::ThreadLog::open(state_->state_path_);
  if (!log) raise(log.error());
  auto text = agent::export_jsonl(**log, state_->id_);
  if (!text) raise(text.error());
  return *std::move(text);
}

void Agent::cancel() const {
  auto& agent = *state_->agent_;
  if (state_->context_.get_executor().running_in_this_thread()) return agent.cancel();
  state_->wait_void([&agent] { agent.cancel(); });
}

const std::string& Agent::thread() const { return state_->id_; }
void Agent::remove_sandbox() const { state_->wait(state_->agent_->remove_sandbox()); }

Agent create_agent(const AgentOptions& options) {
  auto state = std::make_shared<AgentState>();
  state->open(options);
  return Agent(std::move(state));
}

}  // namespace cay::sdk
