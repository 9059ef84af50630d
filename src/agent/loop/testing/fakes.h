// Fakes of a model, a sandbox and tools, for tests of the loop.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "agent/llm/model.h"
#include "agent/tools/tool.h"
#include "async/deadline.h"
#include "providers/backend.h"

namespace cay::agent::testing {

// World: the sandbox's files and the number of runs of each execution. It outlives a process.
struct World {
  std::map<std::string, std::string> files;
  std::map<std::string, int> runs;  // by execution id
  std::vector<std::string> order;   // executions, in the order of their ends
  std::map<std::string, std::map<std::string, std::string>> checkpoints;
  int boxes = 0;
  int in_flight = 0, most_in_flight = 0;  // calls of tools
  bool gone = false;
};

inline ToolCall call(std::string id, std::string name, std::string arguments) {
  return {std::move(id), std::move(name), std::move(arguments)};
}

inline ModelReply reply(std::string text, std::vector<ToolCall> calls = {}) {
  ModelReply out;
  out.message = Message::of(Role::kAssistant, std::move(text));
  if (out.message.text().empty()) out.message.blocks.clear();
  out.stop = calls.empty() ? StopReason::kEnd : StopReason::kToolCalls;
  out.message.calls = std::move(calls);
  out.usage = {100, 10, 0, 0};
  out.model = "fake";
  return out;
}

// A model that answers by a function of the request. The function sees the conversation alone, so
// it answers in the same way after a crash.
class FakeModel : public Model {
 public:
  using Answer = std::function<Result<ModelReply>(const ModelRequest&)>;
  explicit FakeModel(Answer answer) : answer_(std::move(answer)) {}

  Task<ModelReply> complete(ModelRequest request, OnDelta on_delta) override {
    requests.push_back(request);
    const auto pause = endless ? Millis{60'000} : Millis{0};
    co_await sleep_for(pause);
    auto got = answer_(request);
    if (got && on_delta) on_delta({Delta::Kind::kText, got->message.text()});
    co_return got;
  }
  const ModelProfile& profile() const override { return facts; }
  const std::string& name() const override { return name_; }

  ModelProfile facts;
  std::vector<ModelRequest> requests;
  bool endless = false;

 private:
  Answer answer_;
  std::string name_ = "fake:model";
};

class FakeBackend : public providers::Backend {
 public:
  FakeBackend(std::shared_ptr<World> world, std::string id)
      : world_(std::move(world)), id_(std::move(id)) {}
  const std::string& id() const override { return id_; }
  const std::string& provider() const override { return provider_; }
  providers::Features features() const override {
    providers::Features out;
    out.snapshots = true;
    return out;
  }
  const std::string& workdir() const override { return workdir_; }

  Task<providers::Executed> execute(std::string /*command*/,
                                    providers::ExecuteOptions /*options*/) override {
    co_return providers::Executed{};
  }
  Task<std::vector<providers::FileResult>> upload(
      std::vector<std::pair<std::string, std::string>> files) override {
    std::vector<providers::FileResult> out;
    for (auto& [path, bytes] : files) {
      world_->files[path] = std::move(bytes);
      out.push_back({path, std::nullopt, ""});
    }
    co_return out;
  }
  Task<std::vector<providers::FileResult>> download(std::vector<std::string> paths) override {
    std::vector<providers::FileResult> out;
    for (const auto& path : paths) {
      const auto found = world_->files.find(path);
      if (found == world_->files.end()) {
        out.push_back({path, std::nullopt, "file_not_found"});
      } else {
        out.push_back({path, found->second, ""});
      }
    }
    co_return out;
  }
  Task<providers::Found<providers::FileEntry>> list(std::string path) override {
    providers::Found<providers::FileEntry> out;
    std::string last;
    for (const auto& [name, bytes] : world_->files) {
      if (!name.starts_with(path + "/")) continue;
      const auto below = name.substr(path.size() + 1);
      const auto slash = below.find('/');
      const auto first = below.substr(0, slash);
      if (first == std::exchange(last, first)) continue;
      out.entries.push_back({path + "/" + first, slash != std::string::npos, bytes.size(), ""});
    }
    co_return out;
  }
  Task<std::string> checkpoint(std::string name) override {
    world_->checkpoints[name] = world_->files;
    co_return name;
  }
  Task<void> restore(std::string name) override {
    world_->files = world_->checkpoints.at(name);
    co_return Result<void>{};
  }

 private:
  std::shared_ptr<World> world_;
  std::string id_;
  std::string provider_ = "fake";
  std::string workdir_ = "/work";
};

class FakeProvider : public providers::Provider {
 public:
  explicit FakeProvider(std::shared_ptr<World> world) : world_(std::move(world)) {}
  Task<std::unique_ptr<providers::Backend>> open(providers::SandboxRequest request) override {
    if (world_->gone && !request.id.empty()) {
      co_return Error{Code::kNotFound, "sandbox_not_found", "there is no sandbox " + request.id, 0};
    }
    auto id = request.id;
    if (id.empty()) {
      auto& known = claims_[request.claim];
      if (known.empty() || world_->gone) known = "box-" + std::to_string(++world_->boxes);
      id = known;
    }
    co_return std::make_unique<FakeBackend>(world_, std::move(id));
  }
  Task<void> remove(std::string id) override {
    removed.push_back(std::move(id));
    co_return Result<void>{};
  }
  Task<std::unique_ptr<providers::Backend>> fork(std::string id, std::string claim) override {
    forks.push_back(claim);
    if (fails_after_fork) {
      co_return Error{Code::kInternal, "killed", "as a kill before the answer came", 0};
    }
    co_return std::make_unique<FakeBackend>(world_, id + "-fork");
  }

  std::vector<std::string> removed;
  std::vector<std::string> forks;  // their claims
  bool fails_after_fork = false;

 private:
  std::shared_ptr<World> world_;
  std::map<std::string, std::string> claims_;
};

// A tool whose effect is counted in the world.
class FakeTool : public Tool {
 public:
  using Body = std::function<Result<ToolResult>(const codec::json::object&, const ToolContext&)>;
  FakeTool(std::string name, Repeat repeat, std::shared_ptr<World> world, Body body)
      : repeat_(repeat), world_(std::move(world)), body_(std::move(body)) {
    spec_.name = std::move(name);
    spec_.description = "A tool of a test.";
    spec_.parameters = {{"type", "object"}};
  }
  const ToolSpec& spec() const override { return spec_; }
  Repeat repeat() const override { return repeat_; }
  Task<ToolResult> run(codec::json::object arguments, ToolContext context) override {
    world_->most_in_flight = std::max(world_->most_in_flight, ++world_->in_flight);
    co_await sleep_for(delay);
    --world_->in_flight;
    // An execution that is found again does not run twice.
    const bool again = repeat_ == Repeat::kAttach && world_->runs[context.execution_id] > 0;
    if (!again) ++world_->runs[context.execution_id];
    world_->order.push_back(context.execution_id);
    co_return body_(arguments, context);
  }

  Millis delay{0};

 private:
  ToolSpec spec_;
  Repeat repeat_;
  std::shared_ptr<World> world_;
  Body body_;
};

}  // namespace cay::agent::testing
