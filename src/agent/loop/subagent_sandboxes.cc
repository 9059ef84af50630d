#include "agent/loop/subagent_sandboxes.h"

#include <string>
#include <utility>
#include <vector>

#include "agent/loop/subagent_thread.h"

namespace cay::agent {
namespace {

struct OwnSandboxes {
  std::vector<std::string> ids;
  std::vector<RequestedSandbox> requested;  // a kill may have come before they were bound
};

// Collects those of the subagents below a thread, whose state this is.
Result<void> collect(ThreadLog& log, const std::string& parent, const ThreadState& state,
                     OwnSandboxes& out) {
  for (const auto& call : state.calls) {
    if (!call.is_open_here()) continue;
    CAY_TRY(const auto child, subagent_state(log, call.execution_id, parent));
    if (!child) continue;
    if (child->sandbox && !child->sandbox->claim.empty()) {
      out.ids.push_back(child->sandbox->id);
    } else if (child->requested) {
      out.requested.push_back(*child->requested);
    }
    CAY_CHECK(collect(log, call.execution_id, *child, out));
  }
  return {};
}

}  // namespace

Task<std::unique_ptr<providers::Backend>> open_requested(providers::Provider* provider,
                                                         providers::SandboxRequest request,
                                                         RequestedSandbox requested) {
  if (!requested.source.empty()) {
    auto forking = provider->fork(std::move(requested.source), std::move(requested.claim));
    co_return co_await std::move(forking);
  }
  request.id.clear();
  request.claim = std::move(requested.claim);
  auto opening = provider->open(std::move(request));
  co_return co_await std::move(opening);
}

Task<void> remove_subagent_sandboxes(Harness* harness, providers::Provider* provider,
                                     providers::SandboxRequest request) {
  OwnSandboxes found;
  const auto& thread = harness->recorder->thread();
  CAY_CO_CHECK(collect(*harness->log, thread, harness->state(), found));
  for (auto& requested : found.requested) {
    auto opening = open_requested(provider, request, std::move(requested));
    auto opened = co_await std::move(opening);
    if (opened) found.ids.push_back((*opened)->id());
  }
  for (auto& id : found.ids) {
    auto removing = provider->remove(std::move(id));
    auto removed = co_await std::move(removing);
    static_cast<void>(removed);
  }
  co_return Result<void>{};
}

}  // namespace cay::agent
