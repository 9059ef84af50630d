#include "core/drain.h"

#include "async/deadline.h"
#include "core/errors.h"

namespace cay::core {
namespace {

constexpr Millis kAnswerLimit{2'000};  // of a keeper

Error not_operator() {
  return {Code::kPermissionDenied, "not_operator",
          "this is for the operator's key: the one in the data directory's api-key, CAY_API_KEY of "
          "the daemon, or one made with `cay key create NAME --scope admin`",
          0};
}

Task<SandboxStats> ask(std::shared_ptr<LiveSandbox> live) {
  auto asking = live->stats();
  auto stats = co_await with_deadline(std::move(asking), kAnswerLimit, "counting its commands");
  co_return stats;
}

}  // namespace

Task<DrainStatus> DrainVerbs::set(Principal who, bool draining) {
  if (!who.is_operator()) co_return not_operator();
  jobs_.draining = draining;
  if (on_set) on_set();
  auto status = co_await count();
  co_return status;
}

Task<DrainStatus> DrainVerbs::status(Principal who) {
  if (!who.is_operator()) co_return not_operator();
  auto status = co_await count();
  co_return status;
}

Task<DrainStatus> DrainVerbs::stop_all(Principal who) {
  if (!who.is_operator()) co_return not_operator();
  // As a job: a caller that goes away does not leave half of them running.
  CAY_CO_CHECK(co_await jobs_.finish<void>(stop_everything()));
  auto status = co_await count();
  co_return status;
}

Task<void> DrainVerbs::stop_everything() {
  std::vector<std::shared_ptr<Outcome<void>>> stops;
  for (const auto& entry : registry_->entries()) {
    const bool runs = entry->host != nullptr && (entry->runs() || entry->boot);
    if (runs && !entry->removing()) stops.push_back(jobs_.begin<void>(stop_one(entry)));
  }
  Result<void> first;
  for (std::size_t i = 0; i < stops.size(); ++i) {
    const auto stop = stops[i];
    co_await stop->done.wait();
    if (first && !stop->result) first = stop->result;
  }
  co_return first;
}

// One that is being made is let finish: its creator was promised a sandbox or nothing.
Task<void> DrainVerbs::stop_one(std::shared_ptr<Entry> entry) {
  while (entry->boot) {
    const auto boot = entry->boot;
    co_await boot->done.wait();
  }
  if (entry->erased || entry->removing()) co_return Result<void>();
  auto stopped = co_await lifecycle_.stop(std::move(entry), kStoppedByDrain);
  co_return stopped;
}

Task<DrainStatus> DrainVerbs::count() {
  DrainStatus status;
  status.draining = jobs_.draining;
  std::vector<std::shared_ptr<Outcome<SandboxStats>>> asked;  // all at once
  for (const auto& entry : registry_->entries()) {
    const bool runs = entry->runs() || entry->row.state == SandboxState::kProvisioning;
    if (runs) ++status.running_sandboxes;
    if (runs && entry->host == nullptr) ++status.silent_sandboxes;
    if (entry->live) asked.push_back(jobs_.begin<SandboxStats>(ask(entry->live)));
  }
  for (std::size_t i = 0; i < asked.size(); ++i) {
    const auto one = asked[i];
    co_await one->done.wait();
    // A keeper that does not answer now is counted at its death, or by the next look.
    if (one->result) status.running_commands += one->result->running_commands;
    if (!one->result) ++status.silent_sandboxes;
  }
  co_return status;
}

}  // namespace cay::core
