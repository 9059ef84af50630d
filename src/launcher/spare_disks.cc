#include "launcher/spare_disks.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

namespace cay::launcher {

Result<bool> SpareDisks::take(const DiskPlan& plan) {
  if (plan.fresh || plan.origin.layer.empty() || !plan.origin.sandbox.empty()) return false;
  const auto found = std::find(layers_.begin(), layers_.end(), plan.origin.layer);
  if (found == layers_.end()) return false;
  layers_.erase(found);
  return host_.disks.take_spare(plan.id, plan.bytes, plan.origin.layer);
}

void SpareDisks::refill(const std::string& layer) {
  if (making_ || std::find(layers_.begin(), layers_.end(), layer) != layers_.end()) return;
  auto job = ChildJob::start(
      poller_, outbox_,
      [this, layer](const ChildJob::Emit& emit) {
        // A layer without a spare is no error: the next create makes its own disk.
        (void)host_.disks.make_spare(layer);
        emit(wire::Type::kOk, "");
      },
      [this, layer] { on_made(layer); });
  if (job) making_ = std::move(*job);
}

void SpareDisks::on_made(const std::string& layer) {
  making_.reset();
  if (!host_.disks.exists(kSpareInStore + layer)) return;
  struct stat info{};
  if (::fstatat(host_.layers.get(), layer.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) {
    (void)host_.disks.remove_spare(layer);  // the layer was removed meanwhile
    return;
  }
  layers_.push_back(layer);
  if (layers_.size() <= kMost) return;
  (void)host_.disks.remove_spare(layers_.front());
  layers_.pop_front();
}

}  // namespace cay::launcher
