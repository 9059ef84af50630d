#include "agent/loop/call_runner.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/loop/approvals.h"
#include "agent/loop/spill.h"
#include "async/deadline.h"
#include "async/event.h"
#include "async/scope.h"
#include "codec/utf8.h"

namespace cay::agent {
namespace {

constexpr std::size_t kAtOnce = 16;
constexpr std::uint64_t kToolTries = 8;  // of a tool whose provider is away
constexpr Millis kFirstPause{100};
constexpr Millis kStopLimit{10'000};  // for the end of a command whose run was stopped

struct Ready {
  CallState call;
  std::shared_ptr<Tool> tool;
  codec::json::object arguments;
};

// The calls that run, and the first Error of one.
struct Group {
  explicit Group(asio::any_io_executor executor) : done(std::move(executor)) {}
  std::vector<Ready> ready;
  std::size_t next = 0;
  std::size_t workers = 0;
  Event done;  // set when no worker is left
  std::optional<Error> failure;
};

std::string joined(const std::vector<std::string>& names) {
  std::string out;
  for (const auto& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

Result<void> end_call(Harness& harness, const ToolCall& call, ToolResult result) {
  Message message;
  message.role = Role::kTool;
  message.blocks = std::move(result.blocks);
  message.call_id = call.id;
  message.tool = call.name;
  message.failed = result.failed;
  for (auto& block : message.blocks) {
    auto* text = std::get_if<Text>(&block);
    if (text != nullptr && !codec::is_utf8(text->text)) {
      text->text = codec::sanitised_utf8(text->text);
    }
  }
  codec::json::object data;
  data["run"] = harness.state().run.id;
  data["call_id"] = call.id;
  data["message"] = to_json(message);
  if (!result.artifact.empty()) data["artifact"] = std::move(result.artifact);
  return harness.recorder->record("tool_ended", std::move(data));
}

ToolResult refused(std::string text) {
  ToolResult out;
  out.blocks.push_back(Text{std::move(text)});
  out.failed = true;
  return out;
}

std::string named(const ToolCall& call) { return "Tool call " + call.name + " with id " + call.id; }

std::string unknown_tool(const Harness& harness, const ToolCall& call) {
  std::vector<std::string> names;
  for (const auto& tool : harness.tools) names.push_back(tool->spec().name);
  return "Error: " + call.name + " is not a valid tool, try one of [" + joined(names) + "].";
}

// The result of a call that does not run. nullopt: it runs.
std::optional<ToolResult> settled(const Harness& harness, const CallState& state,
                                  const Result<codec::json::object>& arguments, const Tool* tool) {
  const auto& call = state.call;
  if (!arguments) {
    return refused(named(call) + " could not be executed - arguments were malformed or truncated.");
  }
  if (tool == nullptr) return refused(unknown_tool(harness, call));
  if (state.decision == "respond") {
    ToolResult out;
    out.blocks.push_back(Text{state.note});
    return out;
  }
  if (state.decision == "reject") {
    const auto rejected = "User rejected the tool call for `" + call.name + "` with id " + call.id;
    return refused(state.note.empty() ? rejected : state.note);
  }
  if (state.unknown || (state.started && tool->repeat() == Repeat::kNo)) {
    return refused(named(call) +
                   " was interrupted, and its outcome is unknown: it may have run or not. Check "
                   "before you call it again.");
  }
  return std::nullopt;
}

Result<void> request_approval(Harness& harness, const std::vector<ToolCall>& calls) {
  codec::json::array list;
  for (const auto& call : calls) {
    codec::json::object entry;
    entry["call_id"] = call.id;
    entry["name"] = call.name;
    entry["arguments"] = call.arguments;
    list.emplace_back(std::move(entry));
  }
  for (const auto& child : harness.child_calls) {
    codec::json::object entry;
    entry["call_id"] = child.thread + "/" + child.call_id;
    entry["name"] = child.name;
    entry["arguments"] = child.arguments;
    entry["thread"] = child.thread;
    entry["child_call_id"] = child.call_id;
    list.emplace_back(std::move(entry));
  }
  harness.child_calls.clear();
  codec::json::object data;
  data["run"] = harness.state().run.id;
  data["calls"] = std::move(list);
  return harness.recorder->record("approval_requested", std::move(data));
}

Result<std::string> begin_call(Harness& harness, const CallState& state, std::size_t index,
                               std::uint64_t attempt) {
  auto id = state.execution_id;
  if (id.empty()) {
    id = harness.recorder->thread() + "-" + std::to_string(harness.state().calls_seq) + "-" +
         std::to_string(index);
  }
  codec::json::object data;
  data["run"] = harness.state().run.id;
  data["call_id"] = state.call.id;
  data["name"] = state.call.name;
  data["execution_id"] = id;
  data["attempt"] = attempt;
  CAY_CHECK(harness.recorder->record("tool_started", std::move(data)));
  return id;
}

std::size_t index_of(const ThreadState& state, const std::string& call_id) {
  for (std::size_t i = 0; i < state.calls.size(); ++i) {
    if (state.calls[i].call.id == call_id) return i;
  }
  return state.calls.size();
}

// Ends what the call of a stopped run left running. The log has its end, or that it may go on.
Task<void> stop_one(Harness* harness, Ready ready, ToolContext context) {
  const auto call = ready.call.call;
  auto stopping = ready.tool->stop(std::move(ready.arguments), context);
  auto stopped = co_await with_deadline(std::move(stopping), kStopLimit, "the end of the command");
  if (stopped && !*stopped) co_return Result<void>{};
  if (stopped) {
    auto spilling = spill_result(harness, call.id, call.name, **std::move(stopped));
    auto result =
        co_await with_deadline(std::move(spilling), kStopLimit, "keeping the command's output");
    if (result) co_return end_call(*harness, call, *std::move(result));
    stopped = std::move(result).error();
  }
  codec::json::object data;
  data["run"] = harness->state().run.id;
  data["call_id"] = call.id;
  data["execution_id"] = context.execution_id;
  data["reason"] = stopped.error().reason;
  data["message"] = stopped.error().message;
  co_return harness->recorder->record("tool_left", std::move(data));
}

// The tool's result. When the run is stopped meanwhile, the call is ended first.
Task<ToolResult> run_tool(Harness* harness, const Ready* ready, ToolContext context) {
  std::exception_ptr thrown;
  try {
    auto arguments = ready->arguments;
    auto got = co_await ready->tool->run(std::move(arguments), context);
    co_return got;
  } catch (...) {
    thrown = std::current_exception();
  }
  if (is_cancellation(thrown)) {
    // From here on this coroutine waits as if nobody had cancelled it. kStopLimit bounds that.
    co_await asio::this_coro::reset_cancellation_state();
    auto stopping = stop_one(harness, *ready, std::move(context));
    auto stopped = co_await std::move(stopping);
    static_cast<void>(stopped);  // a log that cannot be written has the call still open
  }
  std::rethrow_exception(thrown);
}

// Runs one call to its result. A provider that is away is tried again, if the tool may run twice.
Task<void> run_one(Harness* harness, Ready ready) {
  const auto index = index_of(harness->state(), ready.call.call.id);
  const bool repeatable = ready.tool->repeat() != Repeat::kNo;
  const auto call = ready.call.call;
  auto pause = kFirstPause;
  for (std::uint64_t tries = 1;; ++tries, pause *= 2) {
    const auto attempt = ready.call.attempt + tries;
    CAY_CO_TRY(ready.call.execution_id, begin_call(*harness, ready.call, index, attempt));
    ToolContext context;
    context.call_id = call.id;
    context.execution_id = ready.call.execution_id;
    context.resumed = ready.call.started || tries > 1;
    context.on_output = [harness, id = call.id](std::string_view bytes) {
      harness->recorder->observer().on_tool_output(harness->recorder->thread(), id, bytes);
    };
    auto running = run_tool(harness, &ready, std::move(context));
    auto got = co_await std::move(running);
    if (got) {
      auto spilling = spill_result(harness, call.id, call.name, *std::move(got));
      CAY_CO_TRY(auto result, co_await std::move(spilling));
      co_return end_call(*harness, call, std::move(result));
    }
    const bool away = got.error().code == Code::kUnavailable;
    if (!away || !repeatable || tries >= kToolTries) co_return std::move(got).error();
    co_await sleep_for(pause);
  }
}

asio::awaitable<void> work(Harness* harness, Group* group) {
  const auto left = [](Group* of) {
    if (--of->workers == 0) of->done.set();
  };
  const std::unique_ptr<Group, decltype(left)> present(group, left);
  while (group->next < group->ready.size() && !group->failure) {
    auto next = std::move(group->ready[group->next++]);
    auto done = co_await run_one(harness, std::move(next));
    if (!done && !group->failure) group->failure = std::move(done).error();
  }
}

asio::awaitable<void> run_all(Harness* harness, Group* group) {
  group->workers = std::min(kAtOnce, group->ready.size());
  if (group->workers == 0) co_return;
  Scope scope(harness->executor);
  for (std::size_t i = group->workers; i > 0; --i) scope.spawn(work(harness, group));
  co_await scope.until(group->done.wait());
}

}  // namespace

Result<void> close_calls(Harness& harness, const std::string& reason) {
  const auto calls = harness.state().calls;
  for (const auto& state : calls) {
    if (state.result) continue;
    const bool malformed = !codec::parse_object(state.call.arguments, codec::Empty::kIsObject);
    const std::string why =
        malformed ? " could not be executed - arguments were malformed or truncated." : reason;
    CAY_CHECK(end_call(harness, state.call, refused(named(state.call) + why)));
  }
  return {};
}

// The directory from which tools resolve a path without "/".
std::string base_of(const Harness& harness) {
  const auto& backend = harness.backend;
  return backend != nullptr && backend->provider() == "local" ? backend->workdir() : "/";
}

Task<std::optional<Outcome>> run_calls(Harness* harness) {
  const auto calls = harness->state().calls;
  Group group(harness->executor);
  std::vector<ToolCall> asked;
  bool waits = false;
  bool todos = false;
  for (const auto& state : calls) {
    if (state.result) continue;
    auto arguments = codec::parse_object(state.call.arguments, codec::Empty::kIsObject);
    auto tool = harness->tool(state.call.name);
    auto result = settled(*harness, state, arguments, tool.get());
    auto verdict = Verdict::kAllow;
    if (!result && !state.started) {
      verdict = verdict_of(harness->rules, tool->spec(), *arguments, base_of(*harness));
      if (verdict == Verdict::kAsk && state.approved) verdict = Verdict::kAllow;
    }
    if (verdict == Verdict::kDeny) {
      result = refused("Error: permission denied: a rule of this agent denies `" + state.call.name +
                       "` with these arguments.");
    }
    if (!result && state.call.name == "write_todos" && std::exchange(todos, true)) {
      result =
          refused("Error: write_todos replaces the whole list, so call it only once in a turn.");
    }
    if (result) {
      CAY_CO_CHECK(end_call(*harness, state.call, *std::move(result)));
      continue;
    }
    if (verdict == Verdict::kAsk) {
      waits = true;
      if (!state.requested) asked.push_back(state.call);
      continue;
    }
    group.ready.push_back({state, std::move(tool), *std::move(arguments)});
  }
  Outcome waiting{RunState::kWaiting, "approval", "calls wait for an approval", nullptr};
  if (waits) {
    if (!asked.empty()) {
      CAY_CO_CHECK(request_approval(*harness, asked));
    }
    co_return waiting;
  }
  co_await run_all(harness, &group);
  if (!harness->child_calls.empty()) {
    CAY_CO_CHECK(request_approval(*harness, {}));
    co_return waiting;
  }
  if (group.failure) co_return *std::move(group.failure);
  co_return std::nullopt;
}

}  // namespace cay::agent
