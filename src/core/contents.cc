#include "core/contents.h"

#include <algorithm>

#include "core/builder.h"
#include "core/errors.h"
#include "core/layer_readers.h"

namespace cay::core {
namespace {

constexpr std::uint64_t kExportDisk = 64ull << 20;  // it writes nothing

// The name that an archive has for a snapshot.
std::string name_in_archive(const SnapshotInfo& snapshot) {
  const std::string tag = snapshot.tags.empty() ? std::string(kLatestTag) : snapshot.tags.front();
  return snapshot.name + ":" + tag;
}

}  // namespace

Task<std::unique_ptr<ChangeSource>> ContentVerbs::changes(Principal who, std::string sandbox) {
  CAY_CO_TRY(auto entry, registry_->find_served(who, sandbox));
  CAY_CO_CHECK(layers_.layers_of(*entry));
  auto beginning = diffs_.begin(std::move(entry));
  auto begun = co_await std::move(beginning);
  co_return begun;
}

Task<std::unique_ptr<ByteSource>> ContentVerbs::export_archive(Principal who, std::string ref) {
  CAY_CO_CHECK(imports_.images());
  CAY_CO_TRY(SnapshotInfo snapshot, snapshots_.find(who.tenant, ref));
  if (jobs_.closing) co_return shutting_down();
  auto work = jobs_.finish(export_job(std::move(snapshot)));
  auto archive = co_await std::move(work);
  co_return archive;
}

Task<std::unique_ptr<ByteSource>> ContentVerbs::export_job(SnapshotInfo snapshot) {
  CAY_CO_TRY(Images* const images, imports_.images());
  const auto hold = layers_.hold(snapshot.layer);
  auto stack = layers_.stack(snapshot.layer);
  std::ranges::reverse(stack);  // the lowest first
  Builder builder(runtimes_.first(), snapshot.tenant, kExportDisk);
  auto booting = builder.boot({}, mounts_of(stack));
  const auto booted = co_await std::move(booting);
  Result<std::unique_ptr<ByteSource>> archive = std::unique_ptr<ByteSource>();
  if (booted) {
    PushRequest request;
    request.reference = name_in_archive(snapshot);
    request.config = snapshot.config;
    auto writing =
        images->write_archive(std::move(request), readers_of(builder.live(), stack.size()));
    archive = co_await std::move(writing);
  } else {
    archive = booted.error();
  }
  const auto gone = co_await builder.destroy();
  if (!gone) jobs_.warn("a builder stays until the next start: " + gone.error().message);
  co_return archive;
}

Task<StoreReport> ContentVerbs::check(Principal who, Repair repair) {
  if (!who.is_operator()) {
    co_return Error{Code::kPermissionDenied, "operator_only",
                    "the store is the host's: its operator alone checks it", 0};
  }
  auto checking = fsck_.check(repair);
  auto report = co_await std::move(checking);
  co_return report;
}

}  // namespace cay::core
