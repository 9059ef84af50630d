#include "agent/loop/agent.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "agent/loop/call_runner.h"
#include "agent/loop/harness.h"
#include "agent/loop/loop.h"
#include "agent/loop/prompt.h"
#include "agent/loop/sandbox.h"
#include "agent/loop/spill.h"
#include "agent/loop/subagent_sandboxes.h"
#include "agent/loop/subagents_spent.h"
#include "agent/loop/task.h"
#include "agent/tools/permission_mounts.h"
#include "async/event.h"
#include "async/scope.h"
#include "codec/utf8.h"

namespace cay::agent {
namespace {

Error busy() {
  return Error{Code::kNotReady, "thread_busy", "a run of this thread is under way", 0};
}

bool is_resumable(const std::string& state) {
  return state == "failed" || state == "cancelled" || state == "limit" || state == "sandbox_lost";
}

// A limit of the cost would bound nothing where an answer has no price.
Result<void> check_prices(const AgentOptions& options, const ModelProfile& profile) {
  if (options.limits.cost <= 0) return {};
  std::string without = profile.prices ? "" : "the model";
  for (const auto& each : options.subagents) {
    if (each.model && !each.model->profile.prices) without = "the model of subagent " + each.name;
  }
  if (without.empty()) return {};
  return Error{Code::kInvalidArgument, "no_prices",
               "a limit of the cost needs the prices of " + without +
                   ", in US dollars for a million tokens: give --input-price and --output-price "
                   "(in C++ prices)",
               0};
}

}  // namespace

// Holds an agent's parts. Each method is a step of Agent's.
class AgentImpl {
 public:
  AgentImpl(asio::any_io_executor executor, AgentOptions options)
      : options_(std::move(options)), stop_(executor) {
    harness_.executor = std::move(executor);
  }

  Task<void> open();
  Task<RunResult> run(std::vector<Block> input, Observer* observer);
  Task<RunResult> resume(Observer* observer);
  Task<RunResult> approve(std::vector<Decision> decisions, Observer* observer);
  Task<void> rewind(std::uint64_t to_seq);
  Task<void> remove_sandbox();

  void cancel() {
    if (running_) stop_.set();
  }
  Harness& harness() { return harness_; }

 private:
  Result<void> open_thread();
  Result<void> open_model();
  Task<void> open_tools();
  Result<void> keep_offered();
  Result<Tools> make_tools(std::shared_ptr<providers::Backend> backend) const;
  Result<RunResult> lost();
  Result<void> decide(const std::vector<PendingCall>& pending,
                      const std::vector<Decision>& decisions);
  Task<RunResult> guarded(std::string run);
  asio::awaitable<void> conduct_into(std::string run, std::optional<Result<RunResult>>* out,
                                     Event* ended);

  AgentOptions options_;
  Harness harness_;
  std::shared_ptr<providers::Provider> provider_;
  Event stop_;  // set by cancel()
  bool running_ = false;
};

Result<void> AgentImpl::open_thread() {
  CAY_TRY(auto log, ThreadLog::open(options_.state_path));
  harness_.log = std::move(log);
  auto thread = options_.thread;
  if (thread.empty()) {
    CAY_TRY(thread, harness_.log->create(""));
  }
  CAY_TRY(harness_.recorder, Recorder::open(harness_.log, thread));
  if (options_.model.model.empty()) options_.model.model = harness_.state().model;
  if (options_.system_prompt.empty()) options_.system_prompt = harness_.state().system_prompt;
  return {};
}

Result<void> AgentImpl::open_model() {
  harness_.model = options_.made_model;
  if (!harness_.model) {
    CAY_TRY(auto first, make_model(harness_.executor, options_.model));
    if (options_.fallback) {
      CAY_TRY(auto next, make_model(harness_.executor, *options_.fallback));
      first = with_fallback(std::move(first), std::move(next));
    }
    harness_.model = std::move(first);
  }
  CAY_CHECK(check_prices(options_, harness_.model->profile()));
  provider_ = options_.made_provider;
  if (!provider_) {
    CAY_TRY(provider_, providers::make_provider(harness_.executor, options_.provider));
  }
  if (harness_.state().created) return {};
  codec::json::object data;
  data["model"] = harness_.model->name();
  data["system_prompt"] = options_.system_prompt;
  data["provider"] = options_.provider;
  return harness_.recorder->record("thread_created", std::move(data));
}

// The built-in tools, and the embedding program's. One of the same name takes a built-in's place.
Result<Tools> AgentImpl::make_tools(std::shared_ptr<providers::Backend> backend) const {
  Tools out;
  if (options_.made_tools) {
    out = options_.made_tools(std::move(backend));
  } else if (backend) {
    auto options = options_.built_in;
    options.todos = options.todos || options_.todos;
    options.sees_images = options.sees_images && harness_.model->profile().sees_images;
    const auto& offered = options_.offered;
    const bool has_status =
        offered.empty() || std::ranges::find(offered, "execute_status") != offered.end();
    options.background = options.background && has_status;
    CAY_TRY(out, checked_tools(std::move(backend), std::move(options)));
  }
  for (const auto& tool : options_.tools) {
    std::erase_if(out, [&](const auto& other) { return other->spec().name == tool->spec().name; });
    out.push_back(tool);
  }
  return out;
}

Task<void> AgentImpl::open_tools() {
  CAY_CO_TRY(harness_.tools, make_tools(harness_.backend));
  TaskParts parts;
  parts.parent = &harness_;
  parts.subagents = options_.subagents;
  bool general = options_.general_purpose;
  for (const auto& each : parts.subagents) general = general && each.name != "general-purpose";
  if (general) {
    parts.subagents.push_back(general_purpose());
    parts.subagents.back().skills = options_.skills;
  }
  parts.depth = options_.subagent_depth;
  parts.provider = provider_;
  parts.sandbox = options_.sandbox;
  parts.make_tools = [this](std::shared_ptr<providers::Backend> backend) {
    return make_tools(std::move(backend));
  };
  if (auto task = make_task_tool(std::move(parts))) harness_.tools.push_back(std::move(task));
  CAY_CO_CHECK(keep_offered());
  auto prompt = make_prompt(&harness_, options_.system_prompt, options_.skills, options_.memory);
  co_return co_await std::move(prompt);
}

Result<void> AgentImpl::keep_offered() {
  if (options_.offered.empty()) return {};
  std::string known;
  for (const auto& tool : harness_.tools) known += (known.empty() ? "" : ", ") + tool->spec().name;
  for (const auto& name : options_.offered) {
    if (!harness_.backend || harness_.tool(name)) continue;
    return Error{Code::kInvalidArgument, "unknown_tool",
                 "there is no tool " + name + " here, only: " + known, 0};
  }
  std::erase_if(harness_.tools, [&](const auto& tool) {
    return std::ranges::find(options_.offered, tool->spec().name) == options_.offered.end();
  });
  return {};
}

Task<void> AgentImpl::open() {
  CAY_CO_CHECK(open_thread());
  CAY_CO_CHECK(record_subagents(harness_));
  CAY_CO_CHECK(open_model());
  CAY_CO_TRY(options_.sandbox.paths, mounts_of(options_.built_in.permissions));
  harness_.rules = options_.rules;
  harness_.limits = options_.limits;
  harness_.response_schema = options_.response_schema;
  CAY_CO_CHECK(co_await bind_sandbox(&harness_, provider_.get(), &options_));
  CAY_CO_CHECK(co_await restore_checkpoint(&harness_));
  co_return co_await open_tools();
}

// The loss may have been found when the thread was opened, before anybody observed.
Result<RunResult> AgentImpl::lost() {
  CAY_TRY(const auto events, harness_.log->events(harness_.recorder->thread()));
  for (auto event = events.rbegin(); event != events.rend(); ++event) {
    if (event->type != "sandbox_lost") continue;
    harness_.recorder->observer().on_event(harness_.recorder->thread(), *event);
    break;
  }
  auto out = result_of(harness_);
  out.state = RunState::kSandboxLost;
  out.reason = "sandbox_lost";
  out.message =
      "the sandbox " + harness_.state().sandbox->id +
      " of this thread is gone. The thread is kept. Go on in a new sandbox, from the last "
      "checkpoint if there is one, by replacing it";
  return out;
}

asio::awaitable<void> AgentImpl::conduct_into(std::string run,
                                              std::optional<Result<RunResult>>* out, Event* ended) {
  const auto set = [](Event* event) { event->set(); };
  const std::unique_ptr<Event, decltype(set)> at_end(ended, set);  // also when it throws
  auto got = co_await conduct(&harness_, std::move(run));
  out->emplace(std::move(got));
}

// The run ends by itself, by cancel(), or by its time limit.
Task<RunResult> AgentImpl::guarded(std::string run) {
  harness_.stop_state = RunState::kCancelled;
  harness_.stop_reason = "cancelled";
  stop_.reset();
  running_ = true;
  const auto left = [](bool* running) { *running = false; };
  const std::unique_ptr<bool, decltype(left)> guard(&running_, left);

  std::optional<Result<RunResult>> result;
  Event ended(harness_.executor);
  const auto wake = stop_.when_set([&ended] { ended.notify(); });
  const auto limit = options_.limits.time;
  const auto deadline = limit.count() > 0 ? deadline_in(limit) : Event::kNever;
  const auto wait = [](AgentImpl* self, Event* done,
                       Event::Deadline until) -> asio::awaitable<bool> {
    if (self->stop_.is_set()) co_return true;
    auto in_time = co_await done->wait_until(until);
    if (!in_time) {
      self->harness_.stop_state = RunState::kLimit;
      self->harness_.stop_reason = "time";
    }
    co_return in_time;
  };
  Scope scope(harness_.executor);
  scope.spawn(conduct_into(std::move(run), &result, &ended));
  auto waiting = wait(this, &ended, deadline);
  co_await scope.until(std::move(waiting));
  if (result && !*result) co_return std::move(*result).error();
  auto out = result ? **std::move(result) : result_of(harness_);
  if (options_.checkpoint && harness_.backend) {
    auto kept = co_await keep_checkpoint(&harness_);
    if (kept) out.checkpoint = *std::move(kept);
    if (!kept)
      out.message += (out.message.empty() ? "" : ". ") + std::string("The checkpoint failed: ") +
                     kept.error().message;
  }
  co_return out;
}

namespace {

// The input's texts as one, and then its media.
Result<Message> message_of(std::vector<Block> input) {
  constexpr std::size_t kMostMedia = 20u << 20;
  Message out;
  std::string text;
  std::vector<Block> media;
  for (auto& block : input) {
    if (const auto* words = std::get_if<Text>(&block)) {
      text += (text.empty() ? "" : "\n\n") + words->text;
    } else if (const auto* image = std::get_if<Media>(&block)) {
      if (image->mime.empty() || image->bytes.empty() || image->bytes.size() > kMostMedia) {
        return Error{Code::kInvalidArgument, "bad_input",
                     "an image of the input is empty, has no type or is above 20 MiB", 0};
      }
      media.push_back(std::move(block));
    }
  }
  if (text.empty() && media.empty()) {
    return Error{Code::kInvalidArgument, "bad_input", "the input is empty", 0};
  }
  if (!codec::is_utf8(text)) text = codec::sanitised_utf8(text);
  if (!text.empty()) out.blocks.emplace_back(Text{std::move(text)});
  std::ranges::move(media, std::back_inserter(out.blocks));
  return out;
}

}  // namespace

Task<RunResult> AgentImpl::run(std::vector<Block> input, Observer* observer) {
  if (running_) co_return busy();
  CAY_CO_TRY(auto message, message_of(std::move(input)));
  harness_.recorder->observe(observer);
  if (!harness_.backend) co_return lost();
  CAY_CO_CHECK(co_await remove_subagent_sandboxes(&harness_, provider_.get(), options_.sandbox));
  CAY_CO_CHECK(close_calls(
      harness_, " was cancelled - another message came in before it could be completed."));
  auto name = harness_.recorder->thread() + "-" + std::to_string(harness_.state().last_seq + 1);
  auto spilling = spill_input(&harness_, std::move(name), message.text());
  CAY_CO_TRY(auto path, co_await std::move(spilling));
  codec::json::object data;
  data["message"] = to_json(message);
  if (!path.empty()) data["path"] = std::move(path);
  CAY_CO_CHECK(harness_.recorder->record("user_message", std::move(data)));
  auto work = guarded(next_run(harness_.state()));
  co_return co_await std::move(work);
}

Task<RunResult> AgentImpl::resume(Observer* observer) {
  if (running_) co_return busy();
  harness_.recorder->observe(observer);
  if (!harness_.backend) co_return lost();
  const auto& state = harness_.state();
  if (state.waiting()) co_return result_of(harness_);
  if (!state.open() && state.calls.empty() && !is_resumable(state.run.state)) {
    co_return Error{Code::kNotReady, "nothing_to_resume",
                    "the last run of this thread is done: give it a new input", 0};
  }
  auto work = guarded(state.run.active ? state.run.id : next_run(state));
  co_return co_await std::move(work);
}

namespace {

codec::json::object json_of(const Decision& decision, const std::string& call_id) {
  codec::json::object out;
  out["call_id"] = call_id;
  switch (decision.type) {
    case Decision::Type::kApprove: out["type"] = "approve"; break;
    case Decision::Type::kEdit: out["type"] = "edit"; break;
    case Decision::Type::kReject: out["type"] = "reject"; break;
    case Decision::Type::kRespond: out["type"] = "respond"; break;
  }
  if (decision.type == Decision::Type::kEdit) out["arguments"] = decision.arguments;
  if (!decision.message.empty()) out["message"] = decision.message;
  return out;
}

const Decision* decision_of(const std::vector<Decision>& decisions, const std::string& call_id) {
  const Decision* found = nullptr;
  for (const auto& each : decisions) {
    if (each.call_id != call_id) continue;
    if (found != nullptr) return nullptr;
    found = &each;
  }
  return found;
}

Error bad_decision(const std::string& what) {
  return Error{Code::kInvalidArgument, "bad_decision", what, 0};
}

Result<void> check(const std::vector<PendingCall>& pending,
                   const std::vector<Decision>& decisions) {
  if (pending.empty()) {
    return Error{Code::kNotReady, "nothing_to_approve", "no call waits for an approval", 0};
  }
  for (const auto& call : pending) {
    const auto* decision = decision_of(decisions, call.call_id);
    if (decision == nullptr) return bad_decision("call " + call.call_id + " needs one decision");
    if (!decision->seen.empty() && decision->seen != call.arguments) {
      return Error{Code::kConflict, "approval_changed",
                   "the arguments of call " + call.call_id + " are not those that were decided", 0};
    }
    if (decision->type == Decision::Type::kEdit && !codec::parse_object(decision->arguments)) {
      return bad_decision("the new arguments of call " + call.call_id + " are no JSON object");
    }
  }
  if (decisions.size() != pending.size()) return bad_decision("a decision has no call that waits");
  return {};
}

Result<void> record_given(Recorder& recorder, codec::json::array decisions) {
  codec::json::object data;
  data["run"] = recorder.state().run.id;
  data["decisions"] = std::move(decisions);
  return recorder.record("approval_given", std::move(data));
}

// Decisions by the ids of their calls.
using Given = std::vector<std::pair<std::string, const Decision*>>;

// Decisions of a subagent's calls go into its own thread first, and so on to those below it.
Result<void> give(const std::shared_ptr<ThreadLog>& log, Recorder& recorder, const Given& given) {
  codec::json::array all;
  std::map<std::string, Given> children;
  for (const auto& [id, decision] : given) {
    all.emplace_back(json_of(*decision, id));
    for (const auto& child : recorder.state().child_calls) {
      if (child.thread + "/" + child.call_id == id)
        children[child.thread].emplace_back(child.call_id, decision);
    }
  }
  for (const auto& [thread, decisions] : children) {
    CAY_TRY(auto child, Recorder::open(log, thread));
    child->observe(&recorder.observer());
    CAY_CHECK(give(log, *child, decisions));
  }
  return record_given(recorder, std::move(all));
}

}  // namespace

Result<void> AgentImpl::decide(const std::vector<PendingCall>& pending,
                               const std::vector<Decision>& decisions) {
  CAY_CHECK(check(pending, decisions));
  Given given;
  for (const auto& call : pending)
    given.emplace_back(call.call_id, decision_of(decisions, call.call_id));
  return give(harness_.log, *harness_.recorder, given);
}

Task<RunResult> AgentImpl::approve(std::vector<Decision> decisions, Observer* observer) {
  if (running_) co_return busy();
  harness_.recorder->observe(observer);
  if (!harness_.backend) co_return lost();
  const auto pending = result_of(harness_).pending;
  CAY_CO_CHECK(decide(pending, decisions));
  auto work = guarded(harness_.state().run.id);
  co_return co_await std::move(work);
}

Task<void> AgentImpl::rewind(std::uint64_t to_seq) {
  if (running_) co_return busy();
  if (to_seq > harness_.state().last_seq) {
    co_return Error{Code::kNotFound, "no_such_event",
                    "the thread has no event " + std::to_string(to_seq), 0};
  }
  const auto chosen = checkpoint_at(harness_.state(), to_seq);
  codec::json::object data;
  data["to_seq"] = to_seq;
  if (!chosen.name.empty()) {
    data["checkpoint"] = chosen.name;
    data["exact"] = chosen.exact;
  }
  CAY_CO_CHECK(harness_.recorder->record("rewound", std::move(data)));
  CAY_CO_CHECK(harness_.recorder->reload());
  auto restoring = restore_checkpoint(&harness_);
  co_return co_await std::move(restoring);
}

Task<void> AgentImpl::remove_sandbox() {
  if (running_) co_return busy();
  CAY_CO_CHECK(co_await remove_subagent_sandboxes(&harness_, provider_.get(), options_.sandbox));
  if (!harness_.backend || !options_.sandbox.id.empty()) co_return Result<void>{};
  auto id = harness_.backend->id();
  co_return co_await provider_->remove(std::move(id));
}

Agent::Agent(std::shared_ptr<AgentImpl> impl) : impl_(std::move(impl)) {}
Agent::~Agent() = default;

Task<std::unique_ptr<Agent>> Agent::open(asio::any_io_executor executor, AgentOptions options) {
  auto impl = std::make_shared<AgentImpl>(std::move(executor), std::move(options));
  CAY_CO_CHECK(co_await impl->open());
  co_return std::unique_ptr<Agent>(new Agent(std::move(impl)));
}

const std::string& Agent::thread() const { return impl_->harness().recorder->thread(); }
Task<RunResult> Agent::run(std::string input, Observer* observer) {
  std::vector<Block> blocks;
  blocks.emplace_back(Text{std::move(input)});
  return impl_->run(std::move(blocks), observer);
}
Task<RunResult> Agent::run(std::vector<Block> input, Observer* observer) {
  return impl_->run(std::move(input), observer);
}
Task<RunResult> Agent::resume(Observer* observer) { return impl_->resume(observer); }
Task<RunResult> Agent::approve(std::vector<Decision> decisions, Observer* observer) {
  return impl_->approve(std::move(decisions), observer);
}
std::vector<PendingCall> Agent::pending() const { return result_of(impl_->harness()).pending; }
void Agent::cancel() { impl_->cancel(); }
Task<void> Agent::rewind(std::uint64_t to_seq) { return impl_->rewind(to_seq); }
providers::Backend* Agent::backend() { return impl_->harness().backend.get(); }
Task<void> Agent::remove_sandbox() { return impl_->remove_sandbox(); }

}  // namespace cay::agent
