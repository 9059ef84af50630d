#include "core/pushes.h"

#include <algorithm>

#include "core/errors.h"
#include "core/layer_readers.h"

namespace cay::core {
namespace {

constexpr std::uint64_t kReaderDisk = 64ull << 20;  // it writes nothing

}  // namespace

Result<std::shared_ptr<Push>> Pushes::begin(const SnapshotInfo& snapshot, PushRequest request) {
  CAY_CHECK(imports_.images());
  if (const auto before = of(snapshot.id); before && !before->done.is_set()) {
    return Error{Code::kConflict, "push_under_way",
                 "snapshot '" + snapshot.name + "' is being pushed to " + before->state.reference +
                     ": wait for it",
                 0};
  }
  PushState first;
  first.snapshot = snapshot.id;
  first.reference = request.reference;
  first.state = kPushing;
  auto push = std::make_shared<Push>(jobs_.loop(), std::move(first));
  newest_[snapshot.id] = push;
  jobs_.spawn(job(push, snapshot, std::move(request)));
  return push;
}

std::shared_ptr<Push> Pushes::of(const SnapshotId& id) const {
  const auto found = newest_.find(id);
  return found == newest_.end() ? nullptr : found->second;
}

PushState Pushes::shown(const Push& push) {
  PushState out = push.state;
  if (out.state == kPushing) out.message = push.progress;
  return out;
}

void Pushes::forget(const SnapshotId& id) {
  const auto push = of(id);
  if (!push) return;
  push->give_up({Code::kCancelled, "snapshot_removed", "the snapshot was removed", 0});
  newest_.erase(id);
}

void Pushes::stop() {
  const auto all = newest_;
  for (const auto& [id, push] : all) push->give_up(shutting_down());
}

Task<void> Pushes::job(std::shared_ptr<Push> push, SnapshotInfo snapshot, PushRequest request) {
  const auto hold = layers_.hold(snapshot.layer);
  auto work = attempt(push, std::move(snapshot), std::move(request));
  auto digest = co_await run_until_given_up<std::string>(jobs_.loop(), push, std::move(work));
  if (push->builder) {
    const auto gone = co_await push->builder->destroy();
    if (!gone) jobs_.warn("a builder stays until the next start: " + gone.error().message);
  }
  push->builder.reset();
  push->state.state = digest ? kPushed : kPushFailed;
  push->state.message = digest ? std::string() : digest.error().message;
  if (digest) push->state.digest = *digest;
  push->done.set();
  co_return Result<void>();
}

Task<std::string> Pushes::attempt(std::shared_ptr<Push> push, SnapshotInfo snapshot,
                                  PushRequest request) {
  CAY_CO_TRY(Images* const images, imports_.images());
  auto stack = layers_.stack(snapshot.layer);
  std::ranges::reverse(stack);  // the lowest first
  push->progress = "reading the layers";
  push->builder = std::make_shared<Builder>(runtimes_.first(), snapshot.tenant, kReaderDisk);
  CAY_CO_CHECK(co_await push->builder->boot({}, mounts_of(stack)));
  auto layers = readers_of(push->builder->live(), stack.size());
  Told told = [weak = std::weak_ptr<Push>(push)](std::string line) {
    if (const auto there = weak.lock()) there->progress = std::move(line);
  };
  request.config = snapshot.config;
  auto pushing = images->push(std::move(request), std::move(layers), std::move(told));
  auto digest = co_await std::move(pushing);
  co_return digest;
}

}  // namespace cay::core
