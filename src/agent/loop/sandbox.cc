#include "agent/loop/sandbox.h"

#include <algorithm>
#include <utility>

#include "agent/loop/call_runner.h"
#include "agent/loop/subagent_sandboxes.h"

namespace cay::agent {
namespace {

bool is_gone(const Error& error) {
  return error.code == Code::kLost || error.code == Code::kNotFound;
}

providers::SandboxRequest request_of(const Harness& harness, const AgentOptions& options) {
  auto request = options.sandbox;
  if (request.id.empty() && request.claim.empty()) {
    request.claim = "thread:" + harness.recorder->thread();
  }
  return request;
}

Result<void> record_bound(Harness& harness, const std::string& claim, const std::string& replaces,
                          const std::string& checkpoint) {
  codec::json::object data;
  data["provider"] = harness.backend->provider();
  data["id"] = harness.backend->id();
  data["claim"] = claim;
  if (!replaces.empty()) data["replaces"] = replaces;
  if (!checkpoint.empty()) data["checkpoint"] = checkpoint;
  return harness.recorder->record("sandbox_bound", std::move(data));
}

std::string last_checkpoint(const ThreadState& state) {
  return state.checkpoints.empty() ? std::string() : state.checkpoints.back().name;
}

Task<void> open_new(Harness* harness, providers::Provider* provider, const AgentOptions* options) {
  auto request = request_of(*harness, *options);
  const auto claim = request.claim;
  const auto source = harness->state().fork_of;
  const auto checkpoint = source.empty() ? std::string() : last_checkpoint(harness->state());
  Result<std::unique_ptr<providers::Backend>> opened;
  if (!source.empty() && checkpoint.empty() && options->sandbox.id.empty()) {
    opened = co_await provider->fork(source, claim);
  } else {
    if (!checkpoint.empty()) request.snapshot = checkpoint;
    opened = co_await provider->open(std::move(request));
  }
  if (!opened) co_return std::move(opened).error();
  harness->backend = *std::move(opened);
  co_return record_bound(*harness, claim, "", checkpoint);
}

Task<void> replace_lost(Harness* harness, providers::Provider* provider,
                        const AgentOptions* options) {
  auto request = request_of(*harness, *options);
  const auto claim = request.claim;
  const auto lost = harness->state().sandbox->id;
  const auto checkpoint = last_checkpoint(harness->state());
  if (request.id == lost) request.id.clear();
  if (!checkpoint.empty()) request.snapshot = checkpoint;
  CAY_CO_TRY(harness->backend, co_await provider->open(std::move(request)));
  CAY_CO_CHECK(record_bound(*harness, claim, lost, checkpoint));
  CAY_CO_CHECK(co_await remove_subagent_sandboxes(harness, provider, options->sandbox));
  CAY_CO_CHECK(close_calls(*harness, " was cut off: the sandbox was lost."));
  const std::string files = checkpoint.empty()
                                ? "Files that were made in the former one are gone."
                                : "Its disk is as of the checkpoint " + checkpoint + ".";
  codec::json::object data;
  data["message"] = to_json(Message::of(
      Role::kUser, "Note of the harness: the sandbox was lost, and this is a new one. " + files));
  data["note"] = true;
  co_return harness->recorder->record("user_message", std::move(data));
}

}  // namespace

Result<void> record_lost(Harness& harness, const Error& error) {
  codec::json::object data;
  data["id"] = harness.state().sandbox ? harness.state().sandbox->id : std::string();
  data["reason"] = error.reason;
  data["message"] = error.message;
  const auto kept = last_checkpoint(harness.state());
  if (!kept.empty()) data["checkpoint"] = kept;
  return harness.recorder->record("sandbox_lost", std::move(data));
}

Task<void> bind_sandbox(Harness* harness, providers::Provider* provider,
                        const AgentOptions* options) {
  if (!harness->state().sandbox) {
    auto opening = open_new(harness, provider, options);
    co_return co_await std::move(opening);
  }
  if (!harness->state().sandbox->lost) {
    providers::SandboxRequest request;
    request.id = harness->state().sandbox->id;
    auto opened = co_await provider->open(std::move(request));
    if (opened) {
      harness->backend = *std::move(opened);
      co_return Result<void>{};
    }
    if (!is_gone(opened.error())) co_return std::move(opened).error();
    CAY_CO_CHECK(record_lost(*harness, opened.error()));
  }
  if (!options->replace_lost_sandbox) co_return Result<void>{};
  auto replacing = replace_lost(harness, provider, options);
  co_return co_await std::move(replacing);
}

Task<std::string> keep_checkpoint(Harness* harness) {
  if (!harness->backend || !harness->backend->features().snapshots) co_return std::string();
  const auto& thread = harness->recorder->thread();
  auto name = "thread-" + thread.substr(0, 8) + "-" + std::to_string(harness->state().last_seq);
  CAY_CO_TRY(auto kept, co_await harness->backend->checkpoint(std::move(name)));
  codec::json::object data;
  data["name"] = kept;
  data["sandbox"] = harness->backend->id();
  CAY_CO_CHECK(harness->recorder->record("checkpoint", std::move(data)));
  co_return kept;
}

Task<void> restore_checkpoint(Harness* harness) {
  const auto name = harness->state().restore;
  if (name.empty() || !harness->backend) co_return Result<void>{};
  auto copy = name;
  CAY_CO_CHECK(co_await harness->backend->restore(std::move(copy)));
  codec::json::object data;
  data["checkpoint"] = name;
  co_return harness->recorder->record("sandbox_restored", std::move(data));
}

ChosenCheckpoint checkpoint_at(const ThreadState& state, std::uint64_t to_seq) {
  const auto ran_between = [&](std::uint64_t a, std::uint64_t b) {
    return std::ranges::any_of(
        state.tool_seqs, [&](auto seq) { return seq > std::min(a, b) && seq <= std::max(a, b); });
  };
  ChosenCheckpoint before;
  for (const auto& each : state.checkpoints) {
    if (!ran_between(each.seq, to_seq)) return {each.name, true};
    if (each.seq <= to_seq) before = {each.name, false};
  }
  return before;
}

}  // namespace cay::agent
