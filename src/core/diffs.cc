#include "core/diffs.h"

#include <algorithm>

#include "core/builder.h"
#include "core/disk_walk.h"

namespace cay::core {
namespace {

constexpr std::uint64_t kDiffDisk = 64ull << 20;  // it writes nothing

class Changes final : public ChangeSource {
 public:
  explicit Changes(std::shared_ptr<Diff> diff) : diff_(std::move(diff)) {}
  ~Changes() override { diff_->changes.close(); }
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;

  Task<std::optional<DiskChange>> next() override {
    auto change = co_await diff_->changes.pop();
    if (!change && !diff_->result) co_return diff_->result.error();
    co_return std::move(change);
  }

 private:
  std::shared_ptr<Diff> diff_;
};

}  // namespace

Task<std::unique_ptr<ChangeSource>> Diffs::begin(std::shared_ptr<Entry> entry) {
  if (jobs_.closing) co_return shutting_down();
  std::erase_if(all_, [](const std::weak_ptr<Diff>& one) { return one.expired(); });
  auto diff = std::make_shared<Diff>(jobs_.loop());
  all_.push_back(diff);
  jobs_.spawn(job(diff, std::move(entry)));
  std::unique_ptr<ChangeSource> out = std::make_unique<Changes>(diff);
  co_await diff->begun.wait();
  if (!diff->result) co_return diff->result.error();
  co_return std::move(out);
}

void Diffs::stop() {
  for (const auto& weak : all_) {
    if (const auto diff = weak.lock()) diff->changes.close();
  }
}

bool Diffs::is_idle() const {
  return std::ranges::all_of(all_, [](const auto& one) { return one.expired(); });
}

Task<void> Diffs::job(std::shared_ptr<Diff> diff, std::shared_ptr<Entry> entry) {
  auto sealing = captures_.seal(entry);
  auto sealed = co_await std::move(sealing);
  if (sealed) {
    auto comparing = compare(diff, std::move(entry), sealed->layer.id);
    diff->result = co_await std::move(comparing);
    sealed->hold.reset();
    layers_.collect();
  } else {
    diff->result = std::move(sealed).error();
  }
  diff->begun.set();
  diff->changes.close();
  co_return Result<void>();
}

Task<void> Diffs::compare(std::shared_ptr<Diff> diff, std::shared_ptr<Entry> entry,
                          LayerId sealed) {
  // No file of a sandbox has this name by chance.
  const std::string place = "/.cay-diff-" + new_uuid();
  Builder builder(runtimes_.first(), entry->row.tenant, kDiffDisk);
  std::vector<DiskMount> mounts{{.path = place, .layer = sealed, .read_only = true}};
  auto booting = builder.boot(layer_of(entry->row), std::move(mounts));
  auto done = co_await std::move(booting);
  if (done) {
    diff->begun.set();
    DiskWalk walk(builder.live(), place, diff->changes);
    auto walking = walk.run();
    done = co_await std::move(walking);
  }
  const auto gone = co_await builder.destroy();
  if (!gone) jobs_.warn("a builder stays until the next start: " + gone.error().message);
  co_return done;
}

}  // namespace cay::core
