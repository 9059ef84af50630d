#include "cli/agent_task_runner.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "async/deadline.h"
#include "async/scope.h"
#include "base/sha256.h"
#include "cli/agent_outcome.h"

namespace cay::cli {
namespace {

namespace json = codec::json;

constexpr Millis kFirstPause{500};  // before a second attempt, doubled for each after it

double seconds_since(std::chrono::steady_clock::time_point begin) {
  constexpr double kMillis = 1000;
  const auto passed =
      std::chrono::duration_cast<Millis>(std::chrono::steady_clock::now() - begin).count();
  return static_cast<double>(passed) / kMillis;
}

}  // namespace

// One try of a task, and how it ended.
struct AgentTaskRunner::Attempt {
  std::string thread, sandbox;
  agent::RunResult result;
  json::array files;
  double seconds = 0;

  bool infrastructure() const { return is_infrastructure(result.state, result.reason); }
  void fail(const Error& error) {
    result.state = agent::RunState::kFailed;
    result.reason = error.reason;
    result.message = error.message;
  }
  json::object to_json() const {
    return {{"state", agent::to_string(result.state)},
            {"reason", result.reason},
            {"message", codec::text(result.message)},
            {"thread", thread},
            {"sandbox", sandbox},
            {"seconds", seconds}};
  }
};

Task<void> AgentTaskRunner::run() {
  Scope workers(loop_);
  const std::uint64_t count = std::clamp<std::uint64_t>(options_.parallel, 1, tasks_.size());
  for (std::uint64_t i = 0; i < count; ++i) workers.spawn(work());
  co_await workers.join();
  co_return std::move(failed_);
}

void AgentTaskRunner::cancel() {
  cancelled_ = true;
  for (agent::Agent* agent : running_) agent->cancel();
}

asio::awaitable<void> AgentTaskRunner::work() {
  while (next_ < tasks_.size() && !cancelled_ && failed_) {
    auto running = run_task(tasks_[next_++]);
    auto done = co_await std::move(running);
    if (!done && failed_) failed_ = std::move(done);
  }
}

Task<void> AgentTaskRunner::run_task(AgentTask task) {
  json::array attempts;
  Millis pause = kFirstPause;
  for (std::uint64_t tried = 0;; ++tried) {
    Attempt one;
    const auto begin = std::chrono::steady_clock::now();
    auto trying = attempt(task, one);
    auto done = co_await std::move(trying);
    if (!done) one.fail(done.error());
    one.seconds = seconds_since(begin);
    attempts.push_back(one.to_json());
    if (cancelled_) co_return Result<void>();
    if (!one.infrastructure() || tried == options_.retries) {
      const json::object result = result_of(task, one, std::move(attempts));
      if (options_.results != nullptr) {
        CAY_CO_CHECK(options_.results->write_result(task.id, result));
      }
      options_.on_result(result);
      co_return Result<void>();
    }
    co_await sleep_for(pause);
    pause *= 2;
  }
}

Task<void> AgentTaskRunner::attempt(const AgentTask& task, Attempt& to) {
  auto opening = agent::Agent::open(loop_, options_of(task));
  auto opened = co_await std::move(opening);
  if (!opened) co_return std::move(opened).error();
  const std::unique_ptr<agent::Agent> agent = *std::move(opened);
  running_.insert(agent.get());
  to.thread = agent->thread();
  auto uploading = upload(task, *agent);
  auto uploaded = co_await std::move(uploading);
  Result<void> done = std::move(uploaded);
  if (done && !cancelled_) {
    auto running = agent->run(task.prompt, nullptr);
    auto result = co_await std::move(running);
    if (result) {
      to.result = *std::move(result);
    } else {
      done = std::move(result).error();
    }
  }
  if (done && to.result.state != agent::RunState::kSandboxLost) {
    auto collecting = collect(task, *agent, to);
    done = co_await std::move(collecting);
  }
  auto removing = agent->remove_sandbox();
  auto removed = co_await std::move(removing);
  static_cast<void>(removed);  // its timers remove it later
  running_.erase(agent.get());
  if (options_.results != nullptr) {
    auto lines = agent::export_jsonl(*options_.log, to.thread);
    if (lines) {
      CAY_CO_CHECK(options_.results->write_events(task.id, *lines));
    }
  }
  co_return done;
}

Task<void> AgentTaskRunner::upload(const AgentTask& task, agent::Agent& agent) {
  if (task.files.empty()) co_return Result<void>();
  if (agent.backend() == nullptr)
    co_return Error{Code::kUnavailable, "no_sandbox", "the task's sandbox is not there", 0};
  auto uploading = agent.backend()->upload(task.files);
  auto uploaded = co_await std::move(uploading);
  if (!uploaded) co_return std::move(uploaded).error();
  for (const auto& file : *uploaded) {
    if (!file.error.empty())
      co_return Error{Code::kInvalidArgument, "upload_failed",
                      file.path + " cannot be written into the sandbox: " + file.error, 0};
  }
  co_return Result<void>();
}

Task<void> AgentTaskRunner::collect(const AgentTask& task, agent::Agent& agent, Attempt& to) {
  auto* backend = agent.backend();
  if (backend == nullptr) co_return Result<void>();
  to.sandbox = backend->id();
  if (task.collect.empty()) co_return Result<void>();
  auto downloading = backend->download(task.collect);
  auto downloaded = co_await std::move(downloading);
  if (!downloaded) co_return std::move(downloaded).error();
  for (const auto& file : *downloaded) {
    json::object entry{{"path", file.path}};
    if (file.content) {
      entry["bytes"] = file.content->size();
      entry["sha256"] = sha256_hex(*file.content);
      if (options_.results != nullptr) {
        CAY_CO_CHECK(options_.results->write_file(task.id, file.path, *file.content));
      }
    } else {
      entry["error"] = file.error;
    }
    to.files.push_back(std::move(entry));
  }
  co_return Result<void>();
}

agent::AgentOptions AgentTaskRunner::options_of(const AgentTask& task) const {
  constexpr double kMillis = 1000;
  agent::AgentOptions out = options_.agent;
  if (!task.model.empty()) {
    out.model.model = task.model;
    out.model.profile.prices.reset();  // those of the line are of another model
  }
  if (!task.system.empty()) out.system_prompt = task.system;
  if (!task.snapshot.empty()) out.sandbox.snapshot = task.snapshot;
  if (!task.policy.empty()) out.sandbox.policy = task.policy;
  if (task.max_steps != 0) out.limits.steps = task.max_steps;
  if (task.timeout_s > 0) out.limits.time = Millis(std::llround(task.timeout_s * kMillis));
  return out;
}

json::object AgentTaskRunner::result_of(const AgentTask& task, const Attempt& last,
                                        json::array attempts) const {
  const agent::RunResult& result = last.result;
  json::object out{{"id", task.id},
                   {"state", agent::to_string(result.state)},
                   {"reason", result.reason},
                   {"message", codec::text(result.message)},
                   {"text", codec::text(result.text)},
                   {"thread", last.thread},
                   {"steps", result.steps},
                   {"usage", agent::to_json(result.usage)},
                   {"seconds", last.seconds},
                   {"files", last.files},
                   {"attempts", attempts.size()},
                   {"tries", std::move(attempts)},
                   {"failure", nullptr}};
  if (result.cost) out["cost"] = *result.cost;
  if (last.infrastructure()) {
    out["failure"] = "infrastructure";
  } else if (result.state != agent::RunState::kDone) {
    out["failure"] = "agent";
  }
  return out;
}

}  // namespace cay::cli
